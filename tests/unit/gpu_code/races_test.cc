// The interpreter as a race checker, over loop form and over the work of threads between barriers.
#include <gmock/gmock.h>

#include <limits>

#include "compiler/build/build.h"
#include "compiler/codegen/gpu/emit.h"
#include "compiler/codegen/gpu/form_threads.h"
#include "compiler/ir/mutator.h"
#include "tests/fakes/workloads.h"
#include "tests/unit/gpu_code/programs.h"

namespace hone {
namespace {

using testing::HasSubstr;

// `s` without its `n`-th barrier.
Stmt without_barrier(const Stmt& s, int n) {
  class Remover final : public Mutator {
   public:
    explicit Remover(int n) : left_(n) {}

   protected:
    using Mutator::visit;
    Stmt visit(const Seq* op) override {
      std::vector<Stmt> out;
      for (const Stmt& part : op->stmts)
        if (part->kind != StmtKind::kBarrier || left_-- != 0) out.push_back((*this)(part));
      return make_seq(std::move(out));
    }

   private:
    int left_;
  };
  return Remover(n)(s);
}

TEST(Races, TheEndOfAThreadLoopOrdersWhatFollows) { EXPECT_EQ(complaint(Reversal().form()), ""); }

TEST(Races, EveryBarrierIsMissedWhenItIsLeftOut) {
  const Function whole = as_function(form_threads(Reversal().form()), "f");
  EXPECT_EQ(complaint(whole), "");
  for (const int n : {0, 1}) {
    Function planted = whole;
    planted.body = without_barrier(whole.body, n);
    ASSERT_FALSE(planted.body.same_as(whole.body)) << "there is no barrier " << n;
    EXPECT_THAT(complaint(planted), HasSubstr("race: thread"))
        << "barrier " << n << " was left out of " << to_string(whole.body);
  }
}

// A double-buffered tile has one barrier an iteration; without it a thread reads elements that are not written yet, or
// overwrites elements that another thread still reads.
TEST(Races, TheOneBarrierOfADoubleBufferIsMissedWhenItIsLeftOut) {
  const Workload w = parse_workload("dense(m=16,n=16,k=24)");
  const Target target = Target::parse("cuda -arch=sm_80");
  const Space space = make_space(w, target);
  ASSERT_NE(space.print(space.default_config()).find("double_buffer=1"), std::string::npos);
  Function f = as_function(gpu_program(lower_config(w, target, space, space.default_config()).kernels[0]), "f");
  EXPECT_EQ(complaint(f), "");
  const Stmt body = f.body;
  f.body = without_barrier(body, 0);
  ASSERT_FALSE(f.body.same_as(body));
  EXPECT_NE(complaint(f), "");
  f.body = without_barrier(body, 1);
  EXPECT_TRUE(to_string(f.body) == to_string(body)) << "there is a second barrier";
}

// Writing the part of a double buffer that is being read conflicts with the readers, in both directions.
TEST(Races, PartsOfABufferThatMeetAreKeptApart) {
  for (const int64_t ahead : {1, 2}) {
    const Buffer a = buffer("A", 64), c = buffer("C", 64), s = buffer("S", 16, BufferScope::kShared);
    const Var t("t"), u("u"), v("v"), k("k");
    const Stmt first = loop(t, 8, LoopKind::kThread, make_store(s, {Expr(t)}, load(a, {Expr(t)})));
    const Stmt fill = loop(u, 8, LoopKind::kThread,
                           make_store(s, {floor_mod(Expr(k) + ahead, 2) * 8 + u}, load(a, {Expr(k) * 8 + u})));
    const Stmt use = loop(v, 8, LoopKind::kThread,
                          make_store(c, {Expr(k) * 8 + v}, load(s, {floor_mod(Expr(k), 2) * 8 + (make_int(7) - v)})));
    const Function before = function_of(
                       {a, c},
                       make_allocate(s, -1, make_seq({first, loop(k, 6, LoopKind::kSerial, make_seq({fill, use}))}))),
                   after = as_function(form_threads(before), "f");
    EXPECT_EQ(complaint(after), "") << to_string(after);
    const std::string text = to_string(after.body);
    const size_t one = text.find("barrier");
    EXPECT_EQ(text.find("barrier", one + 1) != std::string::npos, ahead == 2) << text;
    EXPECT_EQ(run(before), run(after));
  }
}

// Loops that copy ahead as double_buffer() does let copies be under way behind their barrier; no other does, whatever
// its numbers.
TEST(Pipelines, AreWhatDoubleBufferMakes) {
  const auto ahead_of = [](int64_t ahead, int64_t parts, int64_t condition, bool reads_next) {
    const Buffer a = buffer("A", 256), c = buffer("C", 256), s = buffer("S", parts * 8, BufferScope::kShared);
    const Var k("k");
    std::vector<Stmt> first;
    const auto copy = [&](const Expr& i) {
      const Var t("t");
      return loop(t, 8, LoopKind::kThread, make_store(s, {floor_mod(i, parts) * 8 + t}, load(a, {i * 8 + t})));
    };
    for (int64_t i = 0; i < ahead; ++i) first.push_back(copy(make_int(i)));
    const Var v("v");
    const Expr read = floor_mod(Expr(k) + (reads_next ? 1 : 0), parts) * 8 + (make_int(7) - v);
    const Stmt fill = make_if(lt(Expr(k) + condition, make_int(16)), copy(Expr(k) + ahead)),
               use = loop(v, 8, LoopKind::kThread, make_store(c, {Expr(k) * 8 + v}, load(s, {read})));
    first.push_back(loop(k, 16, LoopKind::kSerial, make_seq({fill, use})));
    const GpuProgram program = form_threads(function_of({a, c}, make_allocate(s, -1, make_seq(first))));
    const auto& pipelines = program.kernels[0].pipelines;
    return pipelines.empty() ? 0 : pipelines.begin()->second;
  };
  EXPECT_EQ(ahead_of(2, 3, 2, false), 2);
  EXPECT_EQ(ahead_of(7, 8, 7, false), 7);
  EXPECT_EQ(ahead_of(1, 2, 1, false), 0) << "its barrier waits for all copies";
  EXPECT_EQ(ahead_of(2, 3, 2, true), 0) << "reads what may be under way";
  EXPECT_EQ(ahead_of(2, 4, 2, false), 0) << "a part is never read";
  EXPECT_EQ(ahead_of(3, 4, 2, false), 0);
  EXPECT_EQ(ahead_of(8, 9, 8, false), 0) << "farther than double_buffer() goes";
  for (const int64_t far : {std::numeric_limits<int64_t>::max(), int64_t{1} << 40, int64_t{-1}})
    EXPECT_EQ(ahead_of(2, 3, far, false), 0);
}

TEST(Races, TwoThreadsOfALoopMayNotWriteTheSameElement) {
  const Buffer c = buffer("C", 4);
  const Var t("t");
  EXPECT_THAT(
      complaint(function_of({c}, loop(t, 8, LoopKind::kThread, make_store(c, {floor_mod(t, 4)}, make_float(1))))),
      HasSubstr("race: thread 4 of block 0 writes element 0 of buffer 'C', which thread 0 of block 0 touched"));
}

TEST(Races, AReadRacesWithAWriteInEitherOrder) {
  const Buffer a = buffer("A", 8), c = buffer("C", 8);
  const Var t("t");
  // Thread t reads elements that t+1 writes later, or t-1 wrote before.
  EXPECT_THAT(
      complaint(function_of({a, c}, loop(t, 7, LoopKind::kThread, make_store(a, {Expr(t)}, load(a, {Expr(t) + 1}))))),
      HasSubstr("race: thread 1 of block 0 writes element 1"));
  EXPECT_THAT(
      complaint(function_of({a, c}, loop(t, 7, LoopKind::kThread, make_store(a, {Expr(t) + 1}, load(a, {Expr(t)}))))),
      HasSubstr("race: thread 1 of block 0 reads element 1"));
}

TEST(Races, SeveralReadersAreRememberedNotJustTheFirst) {
  const Buffer a = buffer("A", 8), c = buffer("C", 8);
  const Var t("t");
  // All read A[0]; then thread 0, the first reader, writes it: the others' reads race with that.
  const Stmt body = make_seq({make_store(c, {Expr(t)}, load(a, {make_int(0)})),
                              make_if(eq(t, make_int(3)), make_store(a, {make_int(0)}, make_float(5)))});
  EXPECT_THAT(complaint(function_of({a, c}, loop(t, 4, LoopKind::kThread, body))),
              HasSubstr("race: thread 3 of block 0 writes element 0 of buffer 'A'"));
}

TEST(Races, BlocksAreNeverOrderedWithinALaunch) {
  const Buffer c = buffer("C", 4);
  const Var b("b"), d("d");
  const Stmt write = loop(b, 2, LoopKind::kBlock, make_store(c, {make_int(1)}, make_float(1)));
  EXPECT_THAT(complaint(function_of({c}, write)),
              HasSubstr("race: thread 0 of block 1 writes element 1 of buffer 'C', which thread 0 of block 0 touched"));
  // The second of two launches sees the elements that the first one wrote.
  const Stmt once = make_store(c, {Expr(b)}, make_float(1)),
             later = make_store(c, {Expr(d)}, load(c, {make_int(3) - d}));
  EXPECT_EQ(
      complaint(function_of({c}, make_seq({loop(b, 4, LoopKind::kBlock, once), loop(d, 2, LoopKind::kBlock, later)}))),
      "");
}

TEST(Barriers, AreMetByEveryThread) {
  const Buffer c = buffer("C", 8);
  const Var t("t"), i("i");
  const Stmt some = make_if(lt(t, 4), make_seq({make_barrier(), make_store(c, {Expr(t)}, make_float(1))}));
  EXPECT_THAT(complaint(function_of({c}, loop(t, 8, LoopKind::kThread, some))),
              HasSubstr("not every thread meets a barrier: it depends on a condition"));
  const Stmt often = make_for(i, make_int(0), Expr(t), LoopKind::kSerial, make_barrier());
  EXPECT_THAT(complaint(function_of({c}, loop(t, 8, LoopKind::kThread, often))), HasSubstr("it depends on a loop"));
  EXPECT_THAT(complaint(function_of({c}, make_barrier())), HasSubstr("outside of thread loops"));
}

TEST(Barriers, LetThreadsSeeWhatOthersWrote) {
  const Buffer a = buffer("A", 8), c = buffer("C", 8), s = buffer("S", 8, BufferScope::kShared),
               r = buffer("R", 1, BufferScope::kStack);
  const Var t("t");
  const Stmt body = make_allocate(
      r, -1,
      make_seq({make_store(r, {make_int(0)}, load(a, {Expr(t)})), make_store(s, {Expr(t)}, load(r, {make_int(0)})),
                make_barrier(),
                make_store(c, {Expr(t)}, load(s, {make_int(7) - t}) * make_float(10) + load(r, {make_int(0)}))}));
  const auto tensors = run(function_of({a, c}, make_allocate(s, -1, loop(t, 8, LoopKind::kThread, body))));
  EXPECT_EQ(tensors[1], (std::vector<float>{70, 61, 52, 43, 34, 25, 16, 7}));
}

}  // namespace
}  // namespace hone
