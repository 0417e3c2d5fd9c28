// Quotients and remainders: joined by simplify, bounded by facts about their dividends. Each rule against all values.
#include <gtest/gtest.h>

#include "compiler/arith/bounds.h"
#include "compiler/arith/simplify.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/printer.h"

namespace hone {
namespace {

int64_t value_of(const Expr& e, const Var& x, int64_t at) {
  const auto v = as_const_int(simplify(substitute(e, {{x.get(), make_int(at)}}), Facts()));
  EXPECT_TRUE(v) << to_string(e);
  return v.value_or(INT64_MIN);
}

TEST(Simplify, JoinsQuotientAndRemainder) {
  const Var x("x");
  Facts facts;
  facts.push_range(x.get(), 0, 999);
  // (n, row, column) of x and back, for 6 x 7 tiles; then with a factor, and with one that does not fit.
  const Expr row = floor_mod(floor_div(Expr(x), 7), make_int(6)), column = floor_mod(Expr(x), make_int(7)),
             n = floor_div(Expr(x), 42);
  const Expr back = (n * 6 + row) * 7 + column;
  EXPECT_EQ(simplify(back, facts).get(), x.get());
  EXPECT_EQ(to_string(simplify(back * 3 + 1, facts)), "x * 3 + 1");
  const Expr apart = floor_div(Expr(x), 7) * 8 + column;
  for (const Expr& e : {back, back * 3 + 1, apart})
    for (int64_t at = 0; at < 1000; at += 13)
      EXPECT_EQ(value_of(simplify(e, facts), x, at), value_of(e, x, at)) << to_string(e);
}

TEST(Bounds, FactsAboutASumBoundItsQuotients) {
  // 12 f + i < 16 with 0 <= f < 2, 0 <= i < 12: the rows of 4 are 3 f + i floordiv 4 <= 3, those of 5 (12 f + i)
  // floordiv 5 <= 3.
  const Var f("f"), i("i");
  Facts facts;
  facts.push_range(f.get(), 0, 1);
  facts.push_range(i.get(), 0, 11);
  const Expr sum = Expr(f) * 12 + i;
  const Expr split = Expr(f) * 3 + floor_div(Expr(i), 4), whole = floor_div(sum, 5),
             nested = floor_div(floor_div(sum, 2) + Expr(f) * 0, 3);
  EXPECT_GT(facts.bounds(split).hi, 3);
  facts.push_condition(lt(sum, int64_t{16}));
  EXPECT_EQ(facts.bounds(split).hi, 3);
  EXPECT_EQ(facts.bounds(whole).hi, 3);
  for (const Expr& e : {split, whole, nested}) {
    const Interval bound = facts.bounds(e);
    for (int64_t at_f = 0; at_f < 2; ++at_f)
      for (int64_t at_i = 0; at_i < 12 && 12 * at_f + at_i < 16; ++at_i) {
        const int64_t v = value_of(substitute(e, {{f.get(), make_int(at_f)}}), i, at_i);
        EXPECT_GE(v, bound.lo) << to_string(e);
        EXPECT_LE(v, bound.hi) << to_string(e);
      }
  }
}

}  // namespace
}  // namespace hone
