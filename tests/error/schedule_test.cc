// Each misuse of a primitive is refused with one line that names primitive, stage, loop and reason, and changes
// nothing.
#include <gmock/gmock.h>

#include "tests/fakes/programs.h"
#include "tests/fakes/refusal.h"

namespace hone {
namespace {

using testing::HasSubstr;

struct Errors : testing::Test {
  Program program = matmul_program();
  std::unique_ptr<Schedule> owner = program.schedule();
  Schedule& s = *owner;
  BlockRef c = s.block("c"), d = s.block("d");
  std::vector<LoopRef> loops = s.loops(c);
};

TEST_F(Errors, StorageAlignPadsDimensionsOfIntermediates) {
  EXPECT_EQ(refusal(s, [&] { s.storage_align(d, 0, 8, 1); }), "storage_align: 'd' of stage 'd' is the caller's");
  EXPECT_EQ(refusal(s, [&] { s.storage_align(c, 1, 8, 1); }),
            "storage_align: 'c' of stage 'c': dimension 1 is none of its 2 but the last");
  EXPECT_EQ(refusal(s, [&] { s.storage_align(c, 0, 8, 8); }),
            "storage_align: 'c' of stage 'c': offset 8 is not less than factor 8, or that is not from 1 to 4096");
  s.storage_align(c, 0, 8, 1);
  EXPECT_EQ(refusal(s,
                    [&] {
                      s.transform_layout("c", Layout{{{1, 1, s.shape_of(c)[1]}, {0, 1, s.shape_of(c)[0]}}});
                    }),
            "transform_layout: 'c' is aligned; storage_align comes after");
}
// o[i, j] = x[i, j] - sum(x[i, :]), the sum under j: each iteration computes it anew.
TEST(ErrorsOfSums, DecomposeReductionStaysInsideWhatRecomputes) {
  const Tensor x = placeholder("x", {4, 3}, f32);
  const Axis k = reduce_axis("k", 3);
  const Tensor row =
      compute_reduce("row", {4}, {"i"}, {x}, [&](const std::vector<Expr>& i) { return sum(x(i[0], k), {k}); });
  const Tensor o =
      compute("o", {4, 3}, {"i", "j"}, {x, row}, [&](const std::vector<Expr>& i) { return x(i[0], i[1]) - row(i[0]); });
  Schedule s({{x, ParamRole::kInput}}, o);
  const std::vector<LoopRef> loops = s.loops(s.block("o"));
  s.compute_at(s.block("row"), loops[1]);
  for (const LoopRef around : loops)
    EXPECT_THAT(refusal(s, [&] { s.decompose_reduction(s.block("row"), around); }),
                HasSubstr("each iteration of 'j' computes it anew"));
  s.decompose_reduction(s.block("row"), s.loop(s.block("row"), "k"));
}
TEST(ErrorsOfOutputs, ReverseComputeInlineLeavesThemWritten) {
  const Tensor x = placeholder("x", {4}, f32);
  const Tensor a = compute("a", {4}, {"i"}, {x}, [&](const std::vector<Expr>& i) { return x(i[0]) * 3; });
  const Tensor b = compute("b", {4}, {"i"}, {a}, [&](const std::vector<Expr>& i) { return a(i[0]) + 1; });
  Schedule s({{x, ParamRole::kInput}}, std::vector<Tensor>{a, b});
  EXPECT_EQ(refusal(s, [&] { s.reverse_compute_inline(s.block("b")); }),
            "reverse_compute_inline: stage 'b' into 'a': that writes the output 'a'");
}
TEST_F(Errors, DoubleBufferStandsInALoopAndCopies) {
  EXPECT_EQ(refusal(s, [&] { s.double_buffer(d); }), "double_buffer: stage 'd' writes the output 'd'");
  EXPECT_EQ(refusal(s, [&] { s.double_buffer(c); }),
            "double_buffer: stage 'c' is a reduction; what is staged is copied or computed in one step");
  const BlockRef copy = s.cache_read("c", d, BufferScope::kShared);
  EXPECT_EQ(refusal(s, [&] { s.double_buffer(copy); }),
            "double_buffer: stage 'c_cache' does not stand in a serial loop that runs more than once; compute_at comes "
            "first");
  s.compute_at(copy, s.loops(d)[0]);
  for (const int64_t parts : {int64_t{1}, int64_t{9}, std::numeric_limits<int64_t>::max()})
    EXPECT_EQ(refusal(s, [&] { s.double_buffer(copy, parts); }),
              "double_buffer: stage 'c_cache': " + std::to_string(parts) + " parts: not 2 to 8");
  s.double_buffer(copy);
  EXPECT_EQ(refusal(s, [&] { s.double_buffer(copy); }), "double_buffer: stage 'c_cache' has two buffers already");
}
TEST_F(Errors, TensorCoresWantTheThreadsOfAWarpAround) {
  const Program halves = [] {
    const Tensor a = placeholder("a", {16, 16}, f16), b = placeholder("b", {8, 16}, f16);
    const Tensor c = compute_reduce("c", {16, 8}, {"i", "j"}, {a, b}, [&](const auto& x) {
      const Axis k = reduce_axis("k", 16);
      return sum(cast(f32, a(x[0], k)) * cast(f32, b(x[1], k)), {k});
    });
    return Program{"halves", {{a, ParamRole::kInput}, {b, ParamRole::kInput}}, c};
  }();
  const auto h = halves.schedule();
  const BlockRef sum = h->block("c");
  const auto [row_h, row_g] = h->split(h->loop(sum, "i"), 8);
  const auto [column_q, column_c] = h->split(h->loop(sum, "j"), 2);
  h->reorder({row_g, column_q, row_h, column_c, h->loop(sum, "k")});
  h->bind(row_g, LoopKind::kThread);
  const auto tensorize = [&] { h->tensorize(sum, row_h, "mma_f16"); };
  EXPECT_THAT(refusal(*h, tensorize), HasSubstr("the thread loops closest around it do not run 8 x 4 times"));
  h->bind(column_q, LoopKind::kThread);
  EXPECT_EQ(refusal(*h, tensorize), "accepted");
}
TEST_F(Errors, SplitNeedsAPositiveFactor) {
  EXPECT_EQ(refusal(s, [&] { s.split(loops[0], 0); }), "split: factor 0 of loop 'i' of stage 'c' must be at least 1");
}
TEST_F(Errors, ConsumedLoopsNameTheStepThatTookThem) {
  s.split(loops[0], 2);
  EXPECT_EQ(refusal(s, [&] { s.split(loops[0], 2); }),
            "split: loop number 0 is gone: split(i, 2) -> i_o, i_i replaced it");
}
TEST_F(Errors, UnknownLoopsAndBlocks) {
  EXPECT_EQ(refusal(s, [&] { s.unroll(LoopRef{99}); }), "unroll: there is no loop number 99");
  EXPECT_THAT(refusal(s, [&] { s.block("z"); }), HasSubstr("no stage is called 'z'; there are c, d"));
}
TEST_F(Errors, FuseTakesNeighboursOnly) {
  EXPECT_EQ(refusal(s, [&] { s.fuse(loops[0], loops[2]); }),
            "fuse: loop 'k' of stage 'c' must be all that stands in loop 'i' of stage 'c'");
}
TEST_F(Errors, FuseKeepsReductionsApart) {
  EXPECT_EQ(refusal(s, [&] { s.fuse(loops[1], loops[2]); }),
            "fuse: of loop 'j' of stage 'c' and loop 'k' of stage 'c' only one is a reduction loop of stage 'c'");
}
TEST_F(Errors, ReorderStaysInOneNest) {
  EXPECT_THAT(refusal(s, [&] { s.reorder({loops[0], s.loops(d)[0]}); }), HasSubstr("are not in one nest"));
  EXPECT_EQ(refusal(s, [&] { s.reorder({loops[0], loops[0]}); }), "reorder: loop 'i' of stage 'c' is named twice");
}
TEST_F(Errors, VectorLoopsAreInnermostShortAndSpatial) {
  EXPECT_EQ(refusal(s, [&] { s.vectorize(loops[0]); }), "vectorize: loop 'i' of stage 'c' is not innermost");
  EXPECT_EQ(refusal(s, [&] { s.vectorize(loops[2]); }),
            "vectorize: loop 'k' of stage 'c' is a reduction loop of stage 'c'");
}
TEST_F(Errors, ParallelLoopsWriteDisjointElements) {
  EXPECT_THAT(refusal(s, [&] { s.parallel(loops[2]); }),
              HasSubstr("parallel: loop 'k' of stage 'c' is a reduction loop of stage 'c'"));
  s.parallel(loops[0]);
  EXPECT_EQ(refusal(s, [&] { s.parallel(loops[1]); }),
            "parallel: loop 'j' of stage 'c' stands inside the parallel loop 'i'");
}
TEST_F(Errors, ComputeAtNeedsAllReadersThere) {
  EXPECT_EQ(refusal(s, [&] { s.compute_at(d, loops[0]); }),
            "compute_at: stage 'd' under loop 'i' of stage 'c': it writes the output 'd'");
  EXPECT_EQ(refusal(s, [&] { s.compute_at(c, loops[0]); }),
            "compute_at: stage 'c' under loop 'i' of stage 'c': it stands there already");
}
TEST_F(Errors, VectorLoopsTakeNoProducer) {
  const LoopRef j = s.loops(d)[1];
  s.vectorize(j);
  EXPECT_EQ(refusal(s, [&] { s.compute_at(c, j); }),
            "compute_at: stage 'c' under loop 'j' of stage 'd': a vector loop holds no other loops");
}
TEST_F(Errors, SplitPartsTakesNoMorePartsThanIterations) {
  EXPECT_EQ(refusal(s, [&] { s.split_parts(loops[0], 6); }),
            "split_parts: 6 parts of loop 'i' of stage 'c' must be between 1 and its 5 iterations");
  s.unroll(loops[0]);
  EXPECT_EQ(refusal(s, [&] { s.split_parts(loops[0], 2); }),
            "split_parts: loop 'i' of stage 'c' is already unroll; split first");
}
TEST_F(Errors, TileTakesSerialNestedLoops) {
  EXPECT_EQ(refusal(s, [&] { s.tile(loops[0], loops[1], 0, 2); }),
            "tile: factors 0 and 2 of loop 'i' of stage 'c' and loop 'j' of stage 'c' must be at least 1");
  EXPECT_EQ(refusal(s, [&] { s.tile(loops[1], loops[0], 2, 2); }),
            "tile: loop 'i' of stage 'c' does not stand in loop 'j' of stage 'c'");
  s.decompose_reduction(c, loops[1]);
  EXPECT_EQ(refusal(s, [&] { s.tile(loops[0], loops[1], 2, 2); }),
            "tile: loop 'j' of stage 'c' shares the body of 'i' with other statements");
  s.vectorize(s.loops(d)[1]);
  EXPECT_EQ(refusal(s, [&] { s.tile(s.loops(d)[0], s.loops(d)[1], 2, 2); }),
            "tile: loop 'j' of stage 'd' is already vectorize; tile first");
}
TEST_F(Errors, ReverseComputeAtNeedsACompleteProducer) {
  EXPECT_EQ(refusal(s, [&] { s.reverse_compute_at(c, s.loops(d)[0]); }),
            "reverse_compute_at: stage 'c' under loop 'i' of stage 'd': nothing that it reads is computed there");
  EXPECT_EQ(refusal(s, [&] { s.reverse_compute_at(d, s.loops(d)[0]); }),
            "reverse_compute_at: stage 'd' under loop 'i' of stage 'd': it stands there already");
  EXPECT_EQ(refusal(s, [&] { s.reverse_compute_at(d, loops[2]); }),
            "reverse_compute_at: stage 'd' under loop 'k' of stage 'c': stage 'c' is not complete there, it reduces "
            "over loop 'k'");
  s.reverse_compute_at(d, loops[1]);
  EXPECT_EQ(refusal(s, [&] { s.reverse_compute_at(d, loops[0]); }),
            "reverse_compute_at: stage 'd' under loop 'i' of stage 'd': it stands there already");
}
TEST_F(Errors, ReverseComputeAtIsNoMatterOfTheFirstValue) {
  const BlockRef init = s.decompose_reduction(c, loops[1]);
  EXPECT_EQ(refusal(s, [&] { s.reverse_compute_at(d, s.loop(init, "j")); }),
            "reverse_compute_at: stage 'd' under loop 'j' of stage 'c_init': stage 'c' completes 'c' only behind it");
}
TEST_F(Errors, ReverseComputeAtKeepsParallelLoopsDisjointAndVectorLoopsInnermost) {
  const BlockRef last = s.rfactor(c, loops[2]);
  s.parallel(loops[2]);
  EXPECT_EQ(refusal(s, [&] { s.reverse_compute_at(last, loops[2]); }),
            "reverse_compute_at: stage 'c_final' under loop 'k' of stage 'c': iterations of the parallel loop 'k' "
            "would write the same elements of 'c'");
  const LoopRef rf = s.loop(last, "rf"), j = s.loop(last, "i1");
  s.reorder({rf, j});
  s.vectorize(j);
  EXPECT_EQ(refusal(s, [&] { s.reverse_compute_at(d, j); }),
            "reverse_compute_at: stage 'd' under loop 'i1' of stage 'c_final': a vector loop holds no other loops");
  s.transform_layout("c", Layout{{{1, 1, 7}, {0, 1, 5}}});
  EXPECT_EQ(refusal(s, [&] { s.reverse_compute_at(d, s.loops(last)[0]); }),
            "reverse_compute_at: stage 'd' under loop 'i0' of stage 'c_final': the layout of stage 'c_final' was "
            "transformed; reverse_compute_at comes first");
}
TEST(ReverseComputeAtErrors, ReadersOfNeighboursStayOutside) {
  const Program program = pool_program();
  const auto owner = program.schedule();
  Schedule& s = *owner;
  EXPECT_EQ(refusal(s, [&] { s.reverse_compute_at(s.block("pool"), s.loops(s.block("scaled"))[0]); }),
            "reverse_compute_at: stage 'pool' under loop 'c' of stage 'scaled': dimension 1 of 'scaled' is not indexed "
            "by an axis of its own");
  EXPECT_EQ(refusal(s, [&] { s.reverse_compute_inline(s.block("pool")); }),
            "reverse_compute_inline: stage 'pool': it is a reduction");
  EXPECT_EQ(refusal(s, [&] { s.reverse_compute_inline(s.block("scaled")); }),
            "reverse_compute_inline: stage 'scaled': it reads no other stage");
  EXPECT_EQ(refusal(s, [&] { s.reverse_compute_inline(s.block("shifted")); }),
            "reverse_compute_inline: stage 'shifted' into 'pool': that is a reduction, complete only behind its loops");
}
TEST_F(Errors, RfactorTakesAReductionLoopOfAWholeReduction) {
  EXPECT_EQ(refusal(s, [&] { s.rfactor(d, s.loops(d)[0]); }),
            "rfactor: stage 'd' at loop 'i' of stage 'd': it is not a reduction");
  EXPECT_EQ(refusal(s, [&] { s.rfactor(c, s.loops(d)[0]); }),
            "rfactor: stage 'c' at loop 'i' of stage 'd': the loop is not around it");
  EXPECT_EQ(refusal(s, [&] { s.rfactor(c, loops[1]); }),
            "rfactor: stage 'c' at loop 'j' of stage 'c': the stage does not reduce over it");
  s.decompose_reduction(c, loops[2]);
  EXPECT_EQ(refusal(s, [&] { s.rfactor(c, loops[2]); }),
            "rfactor: stage 'c' at loop 'k' of stage 'c': it is decomposed; rfactor comes before decompose_reduction");
}
TEST_F(Errors, RfactorComesBeforeComputeAt) {
  s.compute_at(c, s.loops(d)[0]);
  EXPECT_EQ(refusal(s, [&] { s.rfactor(c, s.loop(c, "k")); }),
            "rfactor: stage 'c' at loop 'k' of stage 'c': it is computed under another stage's loops; rfactor comes "
            "before compute_at");
}
TEST_F(Errors, PadTakesWholeAxes) {
  EXPECT_EQ(refusal(s, [&] { s.pad(c, {1, 2}); }), "pad: stage 'c': 2 multiples for 3 axes");
  EXPECT_EQ(refusal(s,
                    [&] {
                      s.pad(c, {1, 0, 1});
                    }),
            "pad: stage 'c': multiple 0 of axis 'j' must be between 1 and 2^20");
  s.unroll(loops[1]);
  EXPECT_EQ(refusal(s, [&] { s.pad(c, {1, 4, 1}); }), "pad: stage 'c': loop 'j' is already unroll; pad first");
  s.split(loops[2], 2);
  EXPECT_EQ(refusal(s,
                    [&] {
                      s.pad(c, {1, 1, 4});
                    }),
            "pad: stage 'c': axis 'k' is no loop of its own any more; pad comes before split, fuse and compute_at");
  s.decompose_reduction(c, s.loop(c, "k_o"));
  EXPECT_EQ(refusal(s, [&] { s.pad(c, {4, 1, 1}); }), "pad: stage 'c': it is decomposed or factored; pad comes first");
}
TEST_F(Errors, PadLeavesWhatOthersShare) {
  s.compute_at(c, s.loops(d)[0]);
  EXPECT_EQ(refusal(s, [&] { s.pad(d, {2, 1}); }), "pad: stage 'd': loop 'i' holds other statements too");
  EXPECT_EQ(refusal(s,
                    [&] {
                      s.pad(c, {1, 4, 1});
                    }),
            "pad: stage 'c': stage 'd' reads 'c' in its nest; pad comes before compute_at");
}
TEST(PadErrors, ReductionsMustNotSeeTheirEdge) {
  const Tensor a = placeholder("a", {4, 6}, f32), x = placeholder("x", {9}, f32);
  const auto refused = [&](const std::function<Expr(Expr, Expr)>& term) {
    const Tensor y = compute_reduce("y", {4}, {"i"}, {a, x}, [&](const auto& i) {
      const Axis k = reduce_axis("k", 6);
      return sum(term(i[0], k), {k});
    });
    Schedule s({{a, ParamRole::kInput}, {x, ParamRole::kInput}}, y);
    return refusal(s, [&] { s.pad(s.block("y"), {1, 4}); });
  };
  EXPECT_EQ(refused([&](Expr i, Expr k) { return a(i, k) * x(k); }), "accepted");
  EXPECT_EQ(refused([&](Expr i, Expr k) { return a(i, k) + make_float(1); }),
            "pad: stage 'y': beyond the end of reduction axis 'k' its terms would not vanish");
  // 0 times what x holds may be no 0.
  EXPECT_EQ(refused([&](Expr i, Expr k) { return a(i, k) * x(i); }),
            "pad: stage 'y': beyond the end of reduction axis 'k' its terms would not vanish");
  EXPECT_EQ(refused([&](Expr i, Expr k) { return a(i, k) * x(k) * x(k + 1); }),
            "pad: stage 'y': beyond the end of reduction axis 'k' its terms would not vanish");
}
TEST_F(Errors, TensorizeNamesWhatDoesNotFit) {
  EXPECT_EQ(refusal(s, [&] { s.tensorize(c, loops[0], "amx"); }),
            "tensorize: there is no intrinsic 'amx'; there are fma_f32, dot_u8s8_s32, dot_each_u8s8_s32, dot_s8u8_s32, "
            "dot_bf16_f32, "
            "mma_f16, "
            "mma_bf16, mma_tf32, "
            "mma_s8s8, mma_u8s8, tile_bf16, tile_f16, tile_u8s8, tile_s8u8, tile_s8s8, tile_u8u8, "
            "mmla_bf16, mmla_u8s8, mmla_s8u8, mmla_s8s8, mmla_u8u8");
  EXPECT_EQ(refusal(s, [&] { s.tensorize(d, s.loops(d)[0], "fma_f32"); }),
            "tensorize: stage 'd' at loop 'i' of stage 'd' with fma_f32: it is not a sum");
  EXPECT_EQ(refusal(s, [&] { s.tensorize(c, s.loops(d)[0], "fma_f32"); }),
            "tensorize: stage 'c' at loop 'i' of stage 'd' with fma_f32: the loop is not around it");
  EXPECT_EQ(refusal(s, [&] { s.tensorize(c, loops[0], "fma_f32"); }),
            "tensorize: stage 'c' at loop 'i' of stage 'c' with fma_f32: 3 loops from there inwards, not 2");
  EXPECT_EQ(refusal(s, [&] { s.tensorize(c, loops[1], "fma_f32"); }),
            "tensorize: stage 'c' at loop 'j' of stage 'c' with fma_f32: loop 'k' has 6 iterations; it takes a "
            "multiple of 4 up to 64");
  const auto [k_o, k_i] = s.split(loops[2], 4);
  EXPECT_EQ(
      refusal(s, [&] { s.tensorize(c, k_o, "fma_f32"); }),
      "tensorize: stage 'c' at loop 'k_o' of stage 'c' with fma_f32: loop 'k_o' has a tail; pad or split evenly first");
}
TEST(TensorizeErrors, ValueTypesAndStridesMustBeThePatterns) {
  const std::string dot = "tensorize: stage 'c' at loop 'j' of stage 'c' with dot_u8s8_s32: ";
  const Program bytes = int8_program(2, 8, 8), floats = float_program(3, 8, 5), integers = matmul_program(4, 8, 8);
  const auto with_quarters = [](const Program& p, const std::function<void(Schedule&, LoopRef, LoopRef)>& f) {
    const auto s = p.schedule();
    const auto [k_o, k_i] = s->split(s->loop(s->block("c"), "k"), 4);
    const LoopRef j = s->loop(s->block("c"), "j");
    s->reorder({k_o, j, k_i});
    f(*s, j, k_i);
  };
  with_quarters(integers, [&](Schedule& s, LoopRef j, LoopRef) {
    EXPECT_EQ(refusal(s, [&] { s.tensorize(s.block("c"), j, "dot_u8s8_s32"); }),
              dot + "its value is not the pattern's");
  });
  with_quarters(bytes, [&](Schedule& s, LoopRef j, LoopRef k_i) {
    // Row after row of b: the four bytes of a column are neighbours, the columns are not.
    EXPECT_EQ(refusal(s, [&] { s.tensorize(s.block("c"), j, "dot_u8s8_s32"); }),
              dot + "dimension 1 of 'b' has 8 elements, not 4");
    s.transform_layout("b", Layout{{{1, 4, 2}, {1, 1, 4}, {0, 1, 8}}});
    EXPECT_EQ(refusal(s, [&] { s.tensorize(s.block("c"), j, "dot_u8s8_s32"); }),
              dot + "loop 'k_i' does not step through dimension 2 of 'b' by 1, and nothing else of it");
    s.unroll(k_i);
    EXPECT_EQ(refusal(s, [&] { s.tensorize(s.block("c"), j, "dot_u8s8_s32"); }),
              dot + "loop 'k_i' is unroll already; tensorize first");
  });
  const auto s = floats.schedule();
  const auto l = s->loops(s->block("c"));
  s->reorder({l[2], l[0], l[1]});
  s->transform_layout("c", Layout{{{1, 1, 8}, {0, 1, 3}}});
  EXPECT_EQ(refusal(*s, [&] { s->tensorize(s->block("c"), l[0], "fma_f32"); }),
            "tensorize: stage 'c' at loop 'i' of stage 'c' with fma_f32: loop 'j' does not step through dimension 1 of "
            "'c' by 1, and nothing else of it");
  s->reorder({l[0], l[2], l[1]});
  EXPECT_EQ(refusal(*s, [&] { s->tensorize(s->block("c"), l[2], "fma_f32"); }),
            "tensorize: stage 'c' at loop 'k' of stage 'c' with fma_f32: loop 'k' is a reduction loop");
}
TEST_F(Errors, InlineTakesNoReductionAndNoOutput) {
  EXPECT_EQ(refusal(s, [&] { s.compute_inline(c); }), "compute_inline: stage 'c' is a reduction");
  EXPECT_EQ(refusal(s, [&] { s.compute_inline(d); }), "compute_inline: stage 'd' writes the output 'd'");
}
TEST_F(Errors, CachesBelongToReadersAndWriters) {
  EXPECT_EQ(refusal(s, [&] { s.cache_read("bias", c, BufferScope::kStack); }),
            "cache_read: stage 'c' does not read 'bias'");
  EXPECT_THAT(refusal(s, [&] { s.cache_read("zz", c, BufferScope::kStack); }),
              HasSubstr("there is no buffer 'zz'; there are a, b, bias, d"));
  EXPECT_EQ(refusal(s, [&] { s.cache_write(c, BufferScope::kParam); }),
            "cache_write: a cache of stage 'c' cannot be a parameter");
}
TEST_F(Errors, DecomposeOnceAroundAllReductionLoops) {
  EXPECT_EQ(refusal(s, [&] { s.decompose_reduction(d, s.loops(d)[0]); }),
            "decompose_reduction: stage 'd' at loop 'i' of stage 'd': it is not a reduction");
  const auto [k_o, k_i] = s.split(loops[2], 2);
  EXPECT_EQ(refusal(s, [&] { s.decompose_reduction(c, k_i); }),
            "decompose_reduction: stage 'c' at loop 'k_i' of stage 'c': its reduction loop 'k_o' is outside");
  s.decompose_reduction(c, k_o);
  EXPECT_THAT(refusal(s, [&] { s.decompose_reduction(c, k_o); }), HasSubstr("it is decomposed already"));
}
TEST_F(Errors, LayoutsMustSplitTheShape) {
  EXPECT_THAT(refusal(s, [&] { s.transform_layout("a", Layout{{{0, 1, 5}}}); }), HasSubstr("layout covers"));
  s.transform_layout("a", Layout{{{1, 1, 6}, {0, 1, 5}}});
  EXPECT_THAT(refusal(s,
                      [&] {
                        s.transform_layout("a", Layout{{{1, 1, 5}, {0, 1, 6}}});
                      }),
              HasSubstr("was transformed before"));
}
TEST_F(Errors, ScopesAndAnnotations) {
  EXPECT_EQ(refusal(s, [&] { s.set_scope(d, BufferScope::kStack); }),
            "set_scope: 'd' of stage 'd' is param and cannot become stack");
  EXPECT_EQ(refusal(s, [&] { s.annotate("colour", 3); }),
            "annotate: unknown key 'colour'; known: vector_bits, partition");
  EXPECT_EQ(refusal(s, [&] { s.annotate("partition", 2); }),
            "annotate: partition 2 is neither 0 (static) nor 1 (dynamic)");
  EXPECT_EQ(refusal(s, [&] { s.annotate(loops[2], "colour", 3); }),
            "annotate: unknown key 'colour' of loop 'k' of stage 'c'; known: prefetch, prefetch:BUFFER, limit:BUFFER");
  EXPECT_EQ(
      refusal(s, [&] { s.annotate(loops[2], "prefetch:", 3); }),
      "annotate: unknown key 'prefetch:' of loop 'k' of stage 'c'; known: prefetch, prefetch:BUFFER, limit:BUFFER");
  EXPECT_EQ(refusal(s, [&] { s.annotate(loops[2], "prefetch:nothing", 3); }),
            "annotate: nothing below loop 'k' of stage 'c' reads a buffer 'nothing'");
}
TEST_F(Errors, LimitsAreOneWholeNumber) {
  EXPECT_EQ(refusal(s, [&] { s.annotate(loops[2], "limit:", 3); }),
            "annotate: unknown key 'limit:' of loop 'k' of stage 'c'; known: prefetch, prefetch:BUFFER, limit:BUFFER");
  EXPECT_EQ(refusal(s, [&] { s.annotate(loops[2], "limit:c", 0); }),
            "annotate: limit 0 of loop 'k' of stage 'c' must be between 1 and 2^20");
  EXPECT_EQ(refusal(s, [&] { s.annotate(loops[2], "limit:c", 1); }),
            "annotate: 'c' is not one whole number and cannot limit loop 'k' of stage 'c'");
  EXPECT_THAT(refusal(s, [&] { s.annotate(loops[2], "limit:nothing", 1); }), HasSubstr("'nothing'"));
}
TEST(Limits, StayWithTheirLoops) {
  const Program p = float_program(4, 6, 8);
  auto inputs = p.inputs;
  inputs.emplace_back(placeholder("newest", {1}, kIndex), ParamRole::kInput);
  Schedule s(inputs, p.output);
  const auto loops = s.loops(s.block("c"));
  s.annotate(loops[2], "limit:newest", 2);
  EXPECT_EQ(refusal(s, [&] { s.split(loops[2], 2); }), "split: loop 'k' of stage 'c' has a limit; split first");
  EXPECT_EQ(refusal(s, [&] { s.split_parts(loops[2], 2); }),
            "split_parts: loop 'k' of stage 'c' has a limit; split first");
  EXPECT_EQ(refusal(s, [&] { s.tile(loops[1], loops[2], 2, 2); }),
            "tile: loop 'k' of stage 'c' has a limit; tile first");
  EXPECT_EQ(refusal(s, [&] { s.fuse(loops[1], loops[2]); }), "fuse: loop 'k' of stage 'c' has a limit; fuse first");
}
TEST_F(Errors, PrefetchesBelongToSerialLoopsThatReadOn) {
  EXPECT_EQ(refusal(s, [&] { s.annotate(loops[2], "prefetch", 0); }),
            "annotate: prefetch distance 0 of loop 'k' of stage 'c' must be between 1 and 2^20");
  s.annotate(loops[2], "prefetch", 4);
  EXPECT_EQ(refusal(s, [&] { s.annotate(loops[2], "prefetch", 4); }),
            "annotate: loop 'k' of stage 'c' has a prefetch already");
  EXPECT_EQ(refusal(s, [&] { s.split(loops[2], 2); }), "split: loop 'k' of stage 'c' has a prefetch; split first");
  EXPECT_EQ(refusal(s, [&] { s.split_parts(loops[2], 2); }),
            "split_parts: loop 'k' of stage 'c' has a prefetch; split first");
  EXPECT_EQ(refusal(s, [&] { s.tile(loops[1], loops[2], 2, 2); }),
            "tile: loop 'k' of stage 'c' has a prefetch; tile first");
  EXPECT_EQ(refusal(s, [&] { s.fuse(loops[1], loops[2]); }), "fuse: loop 'k' of stage 'c' has a prefetch; fuse first");
  const auto outer = s.loops(d);
  s.annotate(outer[1], "prefetch", 1);
  EXPECT_EQ(refusal(s, [&] { s.vectorize(outer[1]); }), "vectorize: loop 'j' of stage 'd' has a prefetch");
  s.annotate(outer[0], "prefetch", 1);
  EXPECT_EQ(refusal(s, [&] { s.parallel(outer[0]); }),
            "parallel: loop 'i' of stage 'd' has a prefetch: the next iterations may be another worker's");
  s.parallel(loops[0]);
  EXPECT_EQ(refusal(s, [&] { s.annotate(loops[0], "prefetch", 1); }),
            "annotate: loop 'i' of stage 'c' is parallel and has no next iteration to prefetch for");
}
TEST_F(Errors, PrefetchesNeedSomethingThatMoves) {
  const BlockRef init = s.decompose_reduction(c, loops[1]);
  EXPECT_EQ(refusal(s, [&] { s.annotate(s.loop(init, "j"), "prefetch", 1); }),
            "annotate: nothing that loop 'j' of stage 'c_init' reads moves with it");
}

}  // namespace
}  // namespace hone
