// Binding loops to a GPU's blocks and threads: results and refusals.
#include <gmock/gmock.h>

#include "compiler/ir/printer.h"
#include "compiler/lower/lower.h"
#include "tests/fakes/programs.h"

namespace hone {
namespace {

using testing::HasSubstr;

template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

// c = a * b in blocks of one row and threads of one column, b staged in shared memory a step of k at a time.
std::unique_ptr<Schedule> staged_product(const Program& p) {
  auto s = p.schedule();
  const BlockRef product = s->block("c"), out = s->cache_write(product, BufferScope::kStack);
  s->cache_read("b", product, BufferScope::kShared);
  const auto axes = s->loops(out);
  s->bind(axes[0], LoopKind::kBlock);
  s->bind(axes[1], LoopKind::kThread);
  s->compute_at(product, axes[0]);
  s->reorder({s->loop(product, "k"), s->loop(product, "j")});
  s->decompose_reduction(product, s->loop(product, "k"));
  s->bind(s->loop(product, "j"), LoopKind::kThread);
  return s;
}

TEST(Bind, MarksLoopsAndKeepsTheMeaning) {
  const Program p = float_program(3, 5, 4);
  auto s = staged_product(p);
  const BlockRef copy = s->block("b_cache");
  s->compute_at(copy, s->loop(s->block("c"), "k"));
  s->bind(s->loop(copy, "i1"), LoopKind::kThread);
  const Module m = lower(*s, {});
  EXPECT_THAT(to_string(m), HasSubstr("for i0 in 0..3 block"));
  EXPECT_THAT(to_string(m), HasSubstr("b_cache: f32[5] shared"));
  EXPECT_EQ(run_logical(m.kernels[0], s->params()), run_logical(lower(*p.schedule(), {}).kernels[0], s->params()));
  // The steps make it again.
  auto again = p.schedule();
  again->replay(s->steps());
  EXPECT_EQ(to_string(lower(*again, {})), to_string(m));
}

TEST(Bind, ThreadsMayShareRecomputedStagesButNotTheirElements) {
  // Every block stages all of b; its own loops still write different elements.
  const Program p = float_program(4, 4, 4);
  auto s = staged_product(p);
  const BlockRef copy = s->block("b_cache");
  s->compute_at(copy, s->loops(s->block("c"))[0]);
  EXPECT_EQ(refusal([&] { s->bind(s->loop(copy, "i1"), LoopKind::kThread); }), "");
}

TEST(Bind, SaysWhatItRefuses) {
  const Program p = float_program(4, 4, 4);
  auto s = p.schedule();
  const auto loops = s->loops(s->block("c"));  // i, j, k
  EXPECT_EQ(refusal([&] { s->bind(loops[0], LoopKind::kParallel); }),
            "bind: a loop is bound to block, thread or warp, not to parallel");
  EXPECT_THAT(refusal([&] { s->bind(loops[2], LoopKind::kThread); }),
              HasSubstr("is a reduction loop of stage 'c': its iterations would write the same elements"));
  EXPECT_THAT(refusal([&] {
                s->bind(loops[1], LoopKind::kBlock);
                s->bind(loops[0], LoopKind::kThread);
              }),
              HasSubstr("stands inside the serial loop 'i'"));
  s->bind(loops[0], LoopKind::kThread);
  EXPECT_THAT(refusal([&] { s->bind(loops[0], LoopKind::kBlock); }), HasSubstr("it is already thread"));
  EXPECT_THAT(refusal([&] { s->bind(loops[1], LoopKind::kBlock); }), HasSubstr("it stands inside the thread loop 'i'"));
  auto t = p.schedule();
  t->parallel(t->loops(t->block("c"))[0]);
  EXPECT_THAT(refusal([&] { t->bind(t->loops(t->block("c"))[1], LoopKind::kThread); }),
              HasSubstr("it stands inside the parallel loop 'i'"));
}

}  // namespace
}  // namespace hone
