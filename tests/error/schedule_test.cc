// Each misuse of a primitive is refused with one line that names primitive, stage, loop and reason, and changes nothing.
#include <gmock/gmock.h>

#include "tests/fakes/programs.h"

namespace hone {
namespace {

using testing::HasSubstr;

template <class F>
std::string refusal(Schedule& s, const F& f) {
  const std::string before = s.text();
  try {
    f();
  } catch (const UserError& e) {
    EXPECT_EQ(s.text(), before);
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    return e.what();
  }
  return "accepted";
}

struct Errors : testing::Test {
  Program program = matmul_program();
  std::unique_ptr<Schedule> owner = program.schedule();
  Schedule& s = *owner;
  BlockRef c = s.block("c"), d = s.block("d");
  std::vector<LoopRef> loops = s.loops(c);
};

TEST_F(Errors, SplitNeedsAPositiveFactor) {
  EXPECT_EQ(refusal(s, [&] { s.split(loops[0], 0); }), "split: factor 0 of loop 'i' of stage 'c' must be at least 1");
}
TEST_F(Errors, ConsumedLoopsNameTheStepThatTookThem) {
  s.split(loops[0], 2);
  EXPECT_EQ(refusal(s, [&] { s.split(loops[0], 2); }), "split: loop number 0 is gone: split(i, 2) -> i_o, i_i replaced it");
}
TEST_F(Errors, UnknownLoopsAndBlocks) {
  EXPECT_EQ(refusal(s, [&] { s.unroll(LoopRef{99}); }), "unroll: there is no loop number 99");
  EXPECT_THAT(refusal(s, [&] { s.block("z"); }), HasSubstr("no stage is called 'z'; there are c, d"));
}
TEST_F(Errors, FuseTakesNeighboursOnly) {
  EXPECT_EQ(refusal(s, [&] { s.fuse(loops[0], loops[2]); }), "fuse: loop 'k' of stage 'c' must be all that stands in loop 'i' of stage 'c'");
}
TEST_F(Errors, FuseKeepsReductionsApart) {
  EXPECT_EQ(refusal(s, [&] { s.fuse(loops[1], loops[2]); }), "fuse: of loop 'j' of stage 'c' and loop 'k' of stage 'c' only one is a reduction loop of stage 'c'");
}
TEST_F(Errors, ReorderStaysInOneNest) {
  EXPECT_THAT(refusal(s, [&] { s.reorder({loops[0], s.loops(d)[0]}); }), HasSubstr("are not in one nest"));
  EXPECT_EQ(refusal(s, [&] { s.reorder({loops[0], loops[0]}); }), "reorder: loop 'i' of stage 'c' is named twice");
}
TEST_F(Errors, VectorLoopsAreInnermostShortAndSpatial) {
  EXPECT_EQ(refusal(s, [&] { s.vectorize(loops[0]); }), "vectorize: loop 'i' of stage 'c' is not innermost");
  EXPECT_EQ(refusal(s, [&] { s.vectorize(loops[2]); }), "vectorize: loop 'k' of stage 'c' is a reduction loop of stage 'c'");
}
TEST_F(Errors, ParallelLoopsWriteDisjointElements) {
  EXPECT_THAT(refusal(s, [&] { s.parallel(loops[2]); }), HasSubstr("parallel: loop 'k' of stage 'c' is a reduction loop of stage 'c'"));
  s.parallel(loops[0]);
  EXPECT_EQ(refusal(s, [&] { s.parallel(loops[1]); }), "parallel: loop 'j' of stage 'c' stands inside the parallel loop 'i'");
}
TEST_F(Errors, ComputeAtNeedsAllReadersThere) {
  EXPECT_EQ(refusal(s, [&] { s.compute_at(d, loops[0]); }), "compute_at: stage 'd' under loop 'i' of stage 'c': it writes the output 'd'");
  EXPECT_EQ(refusal(s, [&] { s.compute_at(c, loops[0]); }), "compute_at: stage 'c' under loop 'i' of stage 'c': it stands there already");
}
TEST_F(Errors, VectorLoopsTakeNoProducer) {
  const LoopRef j = s.loops(d)[1];
  s.vectorize(j);
  EXPECT_EQ(refusal(s, [&] { s.compute_at(c, j); }), "compute_at: stage 'c' under loop 'j' of stage 'd': a vector loop holds no other loops");
}
TEST_F(Errors, InlineTakesNoReductionAndNoOutput) {
  EXPECT_EQ(refusal(s, [&] { s.compute_inline(c); }), "compute_inline: stage 'c' is a reduction");
  EXPECT_EQ(refusal(s, [&] { s.compute_inline(d); }), "compute_inline: stage 'd' writes the output 'd'");
}
TEST_F(Errors, CachesBelongToReadersAndWriters) {
  EXPECT_EQ(refusal(s, [&] { s.cache_read("bias", c, BufferScope::kStack); }), "cache_read: stage 'c' does not read 'bias'");
  EXPECT_THAT(refusal(s, [&] { s.cache_read("zz", c, BufferScope::kStack); }), HasSubstr("there is no buffer 'zz'; there are a, b, bias, d"));
  EXPECT_EQ(refusal(s, [&] { s.cache_write(c, BufferScope::kParam); }), "cache_write: a cache of stage 'c' cannot be a parameter");
}
TEST_F(Errors, DecomposeOnceAroundAllReductionLoops) {
  EXPECT_EQ(refusal(s, [&] { s.decompose_reduction(d, s.loops(d)[0]); }), "decompose_reduction: stage 'd' at loop 'i' of stage 'd': it is no reduction");
  const auto [k_o, k_i] = s.split(loops[2], 2);
  EXPECT_EQ(refusal(s, [&] { s.decompose_reduction(c, k_i); }), "decompose_reduction: stage 'c' at loop 'k_i' of stage 'c': its reduction loop 'k_o' is outside");
  s.decompose_reduction(c, k_o);
  EXPECT_THAT(refusal(s, [&] { s.decompose_reduction(c, k_o); }), HasSubstr("it is decomposed already"));
}
TEST_F(Errors, LayoutsMustSplitTheShape) {
  EXPECT_THAT(refusal(s, [&] { s.transform_layout("a", Layout{{{0, 1, 5}}}); }), HasSubstr("layout covers"));
  s.transform_layout("a", Layout{{{1, 1, 6}, {0, 1, 5}}});
  EXPECT_THAT(refusal(s, [&] { s.transform_layout("a", Layout{{{1, 1, 5}, {0, 1, 6}}}); }), HasSubstr("was transformed before"));
}
TEST_F(Errors, ScopesAndAnnotations) {
  EXPECT_EQ(refusal(s, [&] { s.set_scope(d, BufferScope::kStack); }), "set_scope: 'd' of stage 'd' is param and cannot become stack");
  EXPECT_EQ(refusal(s, [&] { s.annotate("colour", 3); }), "annotate: unknown key 'colour'; known: vector_bits");
}

}  // namespace
}  // namespace hone
