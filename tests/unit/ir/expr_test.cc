#include "compiler/ir/expr.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/ir/check_types.h"
#include "compiler/ir/interp.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/stmt.h"

namespace hone {
namespace {

const Var i("i");

TEST(DType, TextRoundTripsForScalars) {
  for (DType t : {f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean})
    EXPECT_EQ(parse_dtype(to_string(t)), t);
  EXPECT_EQ(to_string(f32.with_lanes(16)), "f32x16");
  for (const char* text : {"", "f8", "i32", "float", "f32x16", "F32", " f32"})
    EXPECT_THROW(parse_dtype(text), UserError) << text;
}

TEST(DType, KnowsItsBytes) {
  EXPECT_EQ(boolean.bytes(), 1);
  EXPECT_EQ(f64.with_lanes(4).bytes(), 32);
  EXPECT_EQ(f64.with_lanes(4).scalar(), f64);
}

TEST(DType, ValidTypesAreAClosedList) {
  EXPECT_TRUE(is_valid(f16));
  EXPECT_TRUE(is_valid(i64.with_lanes(kMaxLanes)));
  EXPECT_FALSE(is_valid(i64.with_lanes(kMaxLanes + 1)));
  EXPECT_FALSE(is_valid(i64.with_lanes(0)));
  EXPECT_FALSE(is_valid(DType{TypeCode::kInt, 24}));
  EXPECT_FALSE(is_valid(DType{TypeCode::kFloat, 8}));
  EXPECT_FALSE(is_valid(DType{TypeCode::kBool, 8}));
}

TEST(Folding, IdentitiesOfIntegers) {
  EXPECT_TRUE((Expr(i) + 0).same_as(i));
  EXPECT_TRUE((make_int(0) + i).same_as(i));
  EXPECT_TRUE((Expr(i) - 0).same_as(i));
  EXPECT_TRUE((Expr(i) * 1).same_as(i));
  EXPECT_TRUE(is_const(Expr(i) * 0, 0));
  EXPECT_TRUE(floor_div(i, 1).same_as(i));
  EXPECT_TRUE(is_const(floor_mod(i, 1), 0));
  EXPECT_TRUE(logical_and(make_bool(true), lt(i, 3))->kind == ExprKind::kBinary);
  EXPECT_TRUE(is_const(logical_and(make_bool(false), lt(i, 3)), 0));
  EXPECT_TRUE(is_const(logical_or(lt(i, 3), make_bool(true)), 1));
}

TEST(Folding, LeavesFloatsAlone) {
  const Expr x = load(make_buffer("A", f32, {1}), {make_int(0)});
  // x * 0 is NaN for an infinite x, and x + 0 turns -0 into 0.
  EXPECT_EQ((x * make_float(0))->kind, ExprKind::kBinary);
  EXPECT_EQ((x + make_float(0))->kind, ExprKind::kBinary);
  EXPECT_EQ((make_float(1) + make_float(2))->kind, ExprKind::kBinary);
}

TEST(Folding, DoesNotFoldADivisionThatTraps) {
  EXPECT_EQ(floor_div(make_int(1), make_int(0))->kind, ExprKind::kBinary);
  EXPECT_EQ(floor_mod(make_int(INT64_MIN), make_int(-1))->kind, ExprKind::kBinary);
}

TEST(Folding, IsExactBeyondDouble) {
  const int64_t big = (int64_t{1} << 53) + 1;
  EXPECT_EQ(as_const_int((make_int(0) + big)), big);
  EXPECT_EQ(as_const_int(as<Binary>(Expr(i) * big)->b), big);
}

// Operators fold constants to the value that the interpreter computes.
TEST(Folding, AgreesWithTheInterpreter) {
  std::mt19937 random(4);
  const int64_t values[] = {0, 1, -1, 2, 3, -3, 7, 16, -16, 1000, INT64_MAX, INT64_MIN, int64_t{1} << 40};
  const auto pick = [&] { return values[random() % std::size(values)]; };
  const Buffer out = make_buffer("out", kIndex, {1}), flag = make_buffer("flag", boolean, {1});
  for (int round = 0; round < 3000; ++round) {
    const auto op = static_cast<BinaryOp>(random() % 14);
    if (op == BinaryOp::kDiv || op >= BinaryOp::kAnd) continue;
    const int64_t a = pick(), b = pick();
    if ((op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod) && (b == 0 || b == -1)) continue;
    const auto folded = as_const_int(binary(op, make_int(a), make_int(b)));
    ASSERT_TRUE(folded.has_value()) << symbol_of(op);
    const bool comparison = op >= BinaryOp::kEq;
    const Expr raw(new Binary(op, comparison ? boolean : kIndex, make_int(a), make_int(b)));
    int64_t value = 0;
    uint8_t truth = 0;
    if (comparison)
      interpret(Function{"f", {flag}, {}, make_store(flag, {make_int(0)}, raw)}, {{&truth, 1}});
    else
      interpret(Function{"f", {out}, {}, make_store(out, {make_int(0)}, raw)}, {{&value, 1}});
    ASSERT_EQ(*folded, comparison ? truth : value) << to_string(raw);
  }
}

TEST(FloorDivision, RoundsDownForEverySign) {
  for (int64_t a = -20; a <= 20; ++a)
    for (int64_t b : {-7, -2, -1, 1, 2, 7}) {
      EXPECT_EQ(floor_div(a, b), static_cast<int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b))));
      EXPECT_EQ(ceil_div(a, b), static_cast<int64_t>(std::ceil(static_cast<double>(a) / static_cast<double>(b))));
      EXPECT_EQ(floor_div(a, b) * b + floor_mod(a, b), a);
    }
}

TEST(Construction, MixedTypesAreABugOfOurs) {
  EXPECT_THROW(make_int(1) + make_float(1), InternalError);
  EXPECT_THROW(make_int(1) / make_int(1), InternalError);
  EXPECT_THROW(select(make_bool(true), make_int(1), make_float(1)), InternalError);
  EXPECT_THROW(call(Intrinsic::kFma, {make_float(1)}), InternalError);
}

TEST(Construction, SequencesAreFlatAndConditionsDecided) {
  const Buffer c = make_buffer("C", i64, {4});
  const auto store = [&](int64_t n) { return make_store(c, {make_int(n)}, make_int(n)); };
  const Stmt s = make_seq({store(0), make_seq({store(1), store(2)}), nullptr, make_seq({})});
  ASSERT_TRUE(as<Seq>(s));
  EXPECT_EQ(as<Seq>(s)->stmts.size(), 3u);
  EXPECT_EQ(make_seq({store(0)})->kind, StmtKind::kStore);
  EXPECT_EQ(as<Seq>(make_if(make_bool(false), store(0)))->stmts.size(), 0u);
  EXPECT_EQ(make_if(make_bool(true), store(0))->kind, StmtKind::kStore);
}

}  // namespace
}  // namespace hone
