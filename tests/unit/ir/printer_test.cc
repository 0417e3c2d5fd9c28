#include "compiler/ir/printer.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hone {
namespace {

TEST(Printer, ParenthesesFollowPrecedence) {
  const Var i("i"), j("j"), k("k");
  EXPECT_EQ(to_string((Expr(i) + j) * k), "(i + j) * k");
  EXPECT_EQ(to_string(Expr(i) + Expr(j) * k), "i + j * k");
  EXPECT_EQ(to_string(Expr(i) - (Expr(j) - k)), "i - (j - k)");
  EXPECT_EQ(to_string(Expr(i) - j - k), "i - j - k");
  EXPECT_EQ(to_string(logical_and(lt(i, j), logical_or(le(j, k), eq(i, k)))), "i < j && (j <= k || i == k)");
  EXPECT_EQ(to_string(logical_not(lt(i, j))), "!(i < j)");
  EXPECT_EQ(to_string(floor_mod(floor_div(Expr(i) + j, 4), 2)), "floormod(floordiv(i + j, 4), 2)");
}

TEST(Printer, ConstantsShowTheirType) {
  EXPECT_EQ(to_string(make_int(-3)), "-3");
  EXPECT_EQ(to_string(make_int(7, u8)), "u8(7)");
  EXPECT_EQ(to_string(make_bool(true)), "true");
  EXPECT_EQ(to_string(make_float(1)), "1.0f");
  EXPECT_EQ(to_string(make_float(0.1)), "0.1f");
  EXPECT_EQ(to_string(make_float(0.1, f64)), "0.1");
  EXPECT_EQ(to_string(make_float(-INFINITY)), "-inff");
  EXPECT_EQ(to_string(make_const(2, f32.with_lanes(8))), "broadcast(2.0f, 8)");
}

TEST(Printer, SharedNamesAreNumberedByFirstUse) {
  const Var a("i"), b("i"), c("i_1");
  EXPECT_EQ(to_string(Expr(a) + b + a + c), "i + i_1 + i + i_1_1");
  const Var d("i"), e("i");
  EXPECT_EQ(to_string(Expr(d) + e), to_string(Expr(e) + d)) << "text depends on order of use alone";
}

TEST(Printer, PrintsEveryStatement) {
  const Var i("i"), j("j");
  const Buffer a = make_buffer("A", f32, {4, 8}), c = make_buffer("C", f32, {4, 8});
  const Buffer t = make_buffer("t", f32, {8}, BufferScope::kWorkspace);
  const Stmt fill = make_for(j, make_int(0), make_int(8), LoopKind::kVectorize,
                             make_store(t, {j}, select(lt(j, 4), load(a, {i, j}), make_float(0))));
  const Expr ramp(new Ramp(make_int(0), make_int(1), 8));
  const Stmt masked = make_store(c, {i, ramp}, load(t, {ramp}), lt(ramp, make_const(5, kIndex.with_lanes(8))));
  const Stmt guarded(new If(lt(i, 3), masked, make_store(c, {i, make_int(0)}, call(Intrinsic::kExp, {cast(f32, i)}))));
  const Function f{
      "f",
      {a, c},
      {},
      make_for(i, make_int(1), make_int(3), LoopKind::kParallel,
               make_allocate(t, 64, make_seq({make_prefetch(a, {Expr(i) + 2, make_int(0)}), fill, guarded})))};
  EXPECT_EQ(to_string(f),
            "func f(A: f32[4, 8], C: f32[4, 8]) {\n"
            "  for i in 1..4 parallel {\n"
            "    alloc t: f32[8] workspace @ 64 {\n"
            "      prefetch A[i + 2, 0]\n"
            "      for j in 0..8 vectorize {\n"
            "        t[j] = select(j < 4, A[i, j], 0.0f)\n"
            "      }\n"
            "      if (i < 3) {\n"
            "        C[i, ramp(0, 1, 8)] = t[ramp(0, 1, 8)] where ramp(0, 1, 8) < broadcast(5, 8)\n"
            "      } else {\n"
            "        C[i, 0] = exp(f32(i))\n"
            "      }\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(Printer, ModulesShowParametersAndLayouts) {
  const Buffer a = make_buffer("A", f32, {32}), w = make_buffer("W", f32, {2});
  Module m;
  m.params = {{"A", ParamRole::kInput, f32, {1, 20}, Layout::parse("NC16c", "NC", {1, 20})},
              {"W", ParamRole::kConstant, f32, {2}, Layout::identity({2})}};
  m.kernels = {{"k", {a, w}, {}, make_seq({})}};
  m.prepacks = {{1, {"p", {w, w}, {}, make_seq({})}}};
  m.workers = 2;
  m.workspace_bytes = 128;
  m.vector_bits = 256;
  m.partition = Partition::kDynamic;
  EXPECT_EQ(to_string(m),
            "module workers=2 workspace=128 vector_bits=256 partition=dynamic\n"
            "param A: input f32[1, 20] layout (0,1,1) (1,16,2) (1,1,16)\n"
            "param W: constant f32[2]\n"
            "prepack of param 1: func p(W: f32[2], W: f32[2]) {\n  pass\n}\n"
            "func k(A: f32[32], W: f32[2]) {\n  pass\n}\n");
}

}  // namespace
}  // namespace hone
