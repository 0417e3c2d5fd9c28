// Arithmetic that wraps around keeps its value: the verifier's proofs about an index or a condition hold for the
// simplified one too.
#include <gtest/gtest.h>

#include "compiler/arith/simplify.h"
#include "compiler/ir/interp.h"
#include "compiler/ir/printer.h"

namespace hone {
namespace {

// out[i] = value(i) for i in 0..8, before and after simplify().
void expect_same_values(const Expr& value, const Var& i) {
  const Buffer out = make_buffer("out", i64, {8});
  Function f;
  f.name = "f";
  f.params = {out};
  f.body = make_for(i, make_int(0), make_int(8), LoopKind::kSerial, make_store(out, {Expr(i)}, value));
  Function g = f;
  g.body = simplify(f.body);
  int64_t want[8] = {}, got[8] = {};
  interpret(f, {{want, 8}});
  interpret(g, {{got, 8}});
  for (int x = 0; x < 8; ++x)
    EXPECT_EQ(got[x], want[x]) << x << " of " << to_string(f.body) << " simplified to " << to_string(g.body);
}

TEST(Simplify, KeepsQuotientsAndRemaindersByHugeDivisors) {
  const Var i("i");
  for (int64_t c : {INT64_MAX, INT64_MAX - 1, int64_t{1} << 62, int64_t{12}})
    for (int64_t shift : {int64_t{-1}, int64_t{5}, INT64_MAX - 3, INT64_MIN + 2}) {
      expect_same_values(floor_mod(Expr(i) + shift, c), i);
      expect_same_values(floor_div(Expr(i) + shift, c), i);
      expect_same_values(floor_mod(Expr(i) * (int64_t{12} << 58) + shift, c), i);
      expect_same_values(floor_div(Expr(i) * (int64_t{12} << 58) + shift, c), i);
    }
}

TEST(Simplify, BelievesNoConditionThatWraps) {
  const Var i("i");
  const Expr wraps = Expr(i) * (int64_t{1} << 62);  // 0 again where i is 4
  expect_same_values(select(lt(wraps, 5), min(Expr(i), make_int(0)), make_int(7)), i);
  expect_same_values(select(lt(wraps, 5), cast(i64, lt(Expr(i), 1)), make_int(7)), i);
}

}  // namespace
}  // namespace hone
