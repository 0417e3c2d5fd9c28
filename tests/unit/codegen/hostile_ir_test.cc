// Proofs of verify() must hold for the emitted code: programs written to make a pass drop a condition, or fold an
// index, that their proofs rest on.
#include <gtest/gtest.h>

#include "compiler/arith/unproved_accesses.h"
#include "compiler/arith/verify.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/ir/interp.h"
#include "compiler/ir/printer.h"
#include "tests/unit/codegen/programs.h"

namespace hone {
namespace {

constexpr int64_t kFar = int64_t{1} << 62;

Stmt loop(const Var& v, Expr lo, int64_t n, LoopKind kind, Stmt body) {
  return make_for(v, std::move(lo), make_int(n), kind, std::move(body));
}
Stmt store_one(const Buffer& b, Expr index) { return make_store(b, {std::move(index)}, make_float(1)); }

// Runs the legalized form of a proved program: the interpreter refuses an access outside of a buffer.
void expect_stays_inside(const Buffer& out, const Stmt& body) {
  Function f;
  f.name = "f";
  f.params = {out};
  f.body = body;
  ASSERT_TRUE(verify(f).empty()) << "not proved: nothing is shown by " << to_string(f);
  for (int bits : {128, 512}) {
    Function legal = f;
    legal.body = legalize(f.body, bits);
    std::vector<float> data(static_cast<size_t>(*as_const_int(out->shape[0])));
    try {
      interpret(legal, {{data.data(), static_cast<int64_t>(data.size())}});
    } catch (const UserError& e) {
      FAIL() << e.what() << "\n" << to_string(legal);
    }
  }
}

// !(c < i + j) with j near 2^63 says that i < 10 only where the sum does not wrap around.
TEST(HostileIr, WrappingConditionsDropNoOther) {
  const Var i("i"), j("j");
  const Buffer a = make_buffer("A", f32, {10});
  const int64_t far = INT64_MAX - 20;
  const Expr sum = Expr(i) + Expr(j);
  const Stmt guarded = make_if(logical_not(lt(make_int(far + 9), sum)), make_if(lt(Expr(i), 10), store_one(a, i)));
  expect_stays_inside(
      a, loop(i, make_int(0), 1000, LoopKind::kSerial, loop(j, make_int(far), 3, LoopKind::kSerial, guarded)));
}

// a < b, both exact, whose difference wraps around: no sum of its parts decides it. (The loops have more
// iterations than are peeled.)
TEST(HostileIr, ConditionsWhoseDifferenceWrapsAreNotGeneralised) {
  const Var t("t"), u("u"), i("i");
  const Buffer a = make_buffer("A", f32, {4});
  const int64_t far = (int64_t{1} << 60) + 10;
  const Expr low = Expr(t) * far + Expr(i), high = Expr(u) * -far;
  const Stmt tile =
      loop(i, make_int(0), 8, LoopKind::kUnroll, make_if(lt(low, high), store_one(a, Expr(t) * 500000 + Expr(i))));
  expect_stays_inside(a, loop(u, make_int(0), 8, LoopKind::kSerial, loop(t, make_int(0), 8, LoopKind::kSerial, tile)));
}

// One node as the condition of two loops over the same variable: a fact in one says nothing about the other.
TEST(HostileIr, SharedConditionsHoldWhereTheyAreTested) {
  const Var t("t"), i("i"), s("s");
  const Buffer a = make_buffer("A", f32, {58});
  const Expr at = Expr(t) * 8 + Expr(i), inside = lt(at, 58);
  const auto tile = [&](int64_t n, Stmt body) {
    return loop(i, make_int(0), n, LoopKind::kUnroll, make_if(inside, std::move(body)));
  };
  const Stmt first = tile(4, make_seq(std::vector<Stmt>(8, store_one(a, at)))),
             far = tile(40, loop(s, make_int(0), 2, LoopKind::kSerial, store_one(a, at)));
  expect_stays_inside(a, loop(t, make_int(0), 8, LoopKind::kSerial, make_seq({first, far})));
  // The same where both conditions count: the inner one's test does not decide the outer one's.
  expect_stays_inside(a, loop(t, make_int(0), 8, LoopKind::kSerial, make_seq({tile(40, store_one(a, at)), first})));
}

// A loop whose end leaves int64 goes on below: its variable is not at least where it began.
TEST(HostileIr, LoopsThatWrapAreUnbounded) {
  const Var v("v"), w("w");
  const Buffer a = make_buffer("A", f32, {10});
  const Expr begin = Expr(w) * (INT64_MAX - 3);
  for (LoopKind kind : {LoopKind::kSerial, LoopKind::kUnroll, LoopKind::kVectorize})
    expect_stays_inside(a, loop(w, make_int(0), 2, LoopKind::kSerial,
                                loop(v, begin, 10, kind, store_one(a, max(make_int(0), min(v, make_int(9)))))));
}

// Sixteen products of 2^124 are 2^128: a sum of 128 bits would be 0 again.
TEST(HostileIr, BoundsOfManyTermsDoNotWrapAround) {
  const Buffer a = make_buffer("A", f32, {8});
  std::vector<Var> vars;
  Expr index;
  for (int k = 0; k < 16; ++k) {
    vars.emplace_back("x" + std::to_string(k));
    const Expr term = Expr(vars.back()) * kFar;
    index = index ? index + term : term;
  }
  Function f;
  f.name = "f";
  f.params = {a};
  f.body = store_one(a, index);
  for (const Var& v : vars) f.body = loop(v, make_int(0), kFar + 1, LoopKind::kSerial, f.body);
  EXPECT_EQ(verify(f).size(), 1u);
  EXPECT_EQ(unproved_accesses(f.body).size(), 1u);
}

// Two lanes about which nothing is known are not equal: their difference is not 0.
TEST(HostileIr, UnknownLanesDoNotCancel) {
  const Buffer x = make_buffer("X", i64, {8}), y = make_buffer("Y", i64, {8}), a = make_buffer("A", f32, {8});
  const Expr ramp(new Ramp(make_int(0), make_int(1), 8));
  const Expr index(
      new Binary(BinaryOp::kAdd, kIndex.with_lanes(8), ramp,
                 Expr(new Binary(BinaryOp::kSub, kIndex.with_lanes(8), load(x, {ramp}), load(y, {ramp})))));
  Function f;
  f.name = "f";
  f.params = {x, y, a};
  f.body = make_store(a, {index}, make_const(1, f32.with_lanes(8)));
  EXPECT_EQ(verify(f).size(), 1u);
  EXPECT_EQ(unproved_accesses(f.body).size(), 1u);
}

// A store between two equal conditions on memory may make them differ.
TEST(HostileIr, ConditionsOnMemoryAreAskedAgain) {
  const Buffer x = make_buffer("X", i64, {1}), a = make_buffer("A", f32, {1});
  const Expr small = lt(load(x, {make_int(0)}), 10);
  Function f;
  f.name = "f";
  f.params = {x, a};
  f.body = make_if(small,
                   make_seq({make_store(x, {make_int(0)}, make_int(1000)), make_if(small, store_one(a, make_int(0)))}));
  f.body = legalize(f.body, 512);
  int64_t value = 5;
  float out = 0;
  interpret(f, {{&value, 1}, {&out, 1}});
  EXPECT_EQ(value, 1000);
  EXPECT_EQ(out, 0) << to_string(f);
}

// Narrower integers wrap around earlier.
TEST(HostileIr, NarrowIntegersAreNotComputedAsInt64) {
  const Var i("i");
  const Buffer x = make_buffer("X", i32, {8}), a = make_buffer("A", f32, {8});
  const Expr wraps = floor_mod(load(x, {Expr(i)}), int64_t{8}) * (int64_t{1} << 29);
  Function f;
  f.name = "f";
  f.params = {x, a};
  f.body = loop(i, make_int(0), 8, LoopKind::kSerial, make_if(le(make_int(0, i32), wraps), store_one(a, i)));
  f.body = legalize(f.body, 512);
  int32_t values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  float out[8] = {};
  interpret(f, {{values, 8}, {out, 8}});
  EXPECT_EQ(out[3], 1);
  EXPECT_EQ(out[4], 0) << "4 * 2^29 is negative in 32 bits\n" << to_string(f);
}

TEST(HostileIr, RankZeroIsNoCrash) {
  const Buffer a = make_buffer("A", f32, std::vector<int64_t>{});
  Function f;
  f.name = "f";
  f.params = {a};
  f.body = make_store(a, {}, load(a, {}) + select(lt(make_int(0), 1), load(a, {}), make_float(0)) * load(a, {}));
  EXPECT_NO_THROW(legalize(f.body, 512));
}

TEST(HostileIr, CopiesOfWhatStoresNothingAreCounted) {
  const Var i("i");
  const Buffer a = make_buffer("A", f32, {8});
  Function f;
  f.name = "f";
  f.params = {a};
  f.body = loop(i, make_int(0), int64_t{1} << 40, LoopKind::kUnroll, make_seq({}));
  EXPECT_THROW(verify(f), UserError);
  EXPECT_THROW(unroll_loops(f.body), UserError);
  // A tree of 2^12 nodes, copied 2^14 times.
  Expr huge = load(a, {make_int(0)});
  for (int k = 0; k < 11; ++k) huge = Expr(new Binary(BinaryOp::kAdd, f32, huge, huge));
  f.body = loop(i, make_int(0), 1 << 14, LoopKind::kUnroll, make_store(a, {make_int(0)}, huge));
  EXPECT_THROW(verify(f), UserError);
}

// --- the net: accesses of emitted code ---

std::vector<std::string> unproved_texts(const Stmt& s) {
  std::vector<std::string> out;
  for (const Unproved& u : unproved_accesses(s)) out.push_back(u.access);
  return out;
}

TEST(UnprovedAccesses, FindsTheCopyThatLeaves) {
  const Var i("i");
  const Buffer a = make_buffer("A", f32, {10});
  std::vector<Stmt> copies;
  for (int c = 0; c < 4; ++c) copies.push_back(store_one(a, Expr(i) * 4 + c));
  const auto in_loop = [&](int64_t n) { return loop(i, make_int(0), n, LoopKind::kSerial, make_seq(copies)); };
  EXPECT_TRUE(unproved_texts(in_loop(2)).empty());
  EXPECT_EQ(unproved_texts(in_loop(3)), (std::vector<std::string>{"A[i * 4 + 2]", "A[i * 4 + 3]"}));
}

TEST(UnprovedAccesses, KnowsVectorsMasksAndConditions) {
  const Var i("i");
  const Buffer a = make_buffer("A", f32, {30});
  const Expr ramp(new Ramp(Expr(i) * 8, make_int(1), 8));
  const Expr ones = make_const(1, f32.with_lanes(8));
  const auto in_loop = [&](Stmt body) { return loop(i, make_int(0), 4, LoopKind::kSerial, std::move(body)); };
  EXPECT_EQ(unproved_texts(in_loop(make_store(a, {ramp}, ones))).size(), 1u);
  EXPECT_TRUE(
      unproved_texts(in_loop(make_store(a, {ramp}, ones, lt(ramp, make_const(30, kIndex.with_lanes(8)))))).empty());
  EXPECT_EQ(unproved_texts(in_loop(make_store(a, {ramp}, ones, lt(ramp, make_const(31, kIndex.with_lanes(8)))))).size(),
            1u);
  EXPECT_TRUE(unproved_texts(in_loop(make_if(lt(Expr(i), 3), make_store(a, {ramp}, ones)))).empty());
  EXPECT_TRUE(
      unproved_texts(in_loop(make_if(lt(Expr(i), 3), make_seq({}), make_store(a, {Expr(i) * 8}, make_float(0)))))
          .empty());
  const Expr never(new Broadcast(make_bool(false), 8)), inside = lt(ramp, make_const(31, kIndex.with_lanes(8)));
  EXPECT_TRUE(
      unproved_texts(
          in_loop(make_store(a, {ramp}, ones, Expr(new Binary(BinaryOp::kAnd, boolean.with_lanes(8), never, inside)))))
          .empty())
      << "never stored";
  const Expr far = make_const(100, kIndex.with_lanes(8));
  EXPECT_EQ(unproved_texts(in_loop(make_store(a, {ramp + far}, ones))).size(), 1u);
}

TEST(UnprovedAccesses, CountsIndicesOfIndices) {
  const Var i("i");
  const Buffer x = make_buffer("X", i64, {8}), a = make_buffer("A", f32, {8});
  const Expr at = floor_mod(load(x, {Expr(i) + 1}), 8);
  EXPECT_EQ(unproved_texts(loop(i, make_int(0), 8, LoopKind::kSerial, store_one(a, at))),
            std::vector<std::string>{"X[i + 1]"});
}

// An access that is not proved in the emitted form is checked at run time: here a form that no pass made.
TEST(UnprovedAccesses, AreCheckedWhenTheyRun) {
  const Buffer x = make_buffer("X", i64, {1}), a = make_buffer("A", f32, {8});
  Function f;
  f.name = "f";
  f.params = {x, a};
  f.body = make_store(a, {load(x, {make_int(0)})}, make_float(1));
  const CompiledModule compiled(module_of(f));  // as if verify() had missed it
  std::vector<HostTensor> tensors = tensors_of(f);
  const auto run_at = [&](int64_t at) {
    *static_cast<int64_t*>(tensors[0].data()) = at;
    return compiled.run(tensors);
  };
  EXPECT_EQ(run_at(7), HONE_OK);
  EXPECT_EQ(run_at(8), HONE_FAULT);
  EXPECT_EQ(run_at(-1), HONE_FAULT);
}

}  // namespace
}  // namespace hone
