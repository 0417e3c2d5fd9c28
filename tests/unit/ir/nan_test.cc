// Maxima and minima of NaNs: the interpreter's results, and which of them need a test.
#include "compiler/ir/nan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ir/interp.h"
#include "compiler/ir/stmt.h"

namespace hone {
namespace {

const float kNan = NAN;

// op(a, b) for all pairs, by the interpreter.
std::vector<float> extremes(BinaryOp op, const std::vector<float>& a, const std::vector<float>& b) {
  const auto n = static_cast<int64_t>(a.size());
  const Buffer x = make_buffer("x", f32, {n}), y = make_buffer("y", f32, {n}), z = make_buffer("z", f32, {n});
  const Var i("i");
  Module m;
  m.kernels = {{"k",
                {x, y, z},
                {},
                make_for(i, make_int(0), make_int(n), LoopKind::kSerial,
                         make_store(z, {Expr(i)}, binary(op, load(x, {Expr(i)}), load(y, {Expr(i)}))))}};
  for (const Buffer& p : {x, y, z})
    m.params.push_back({p->name, &p == &z ? ParamRole::kOutput : ParamRole::kInput, f32, {n}, Layout::identity({n})});
  m.params.back().role = ParamRole::kOutput;
  std::vector<float> out(a.size());
  interpret(m, {{const_cast<float*>(a.data()), n}, {const_cast<float*>(b.data()), n}, {out.data(), n}});
  return out;
}

TEST(Nan, IsWhatAMaximumAndAMinimumOfOneAre) {
  const std::vector<float> a{kNan, 1, kNan, 3, -INFINITY}, b{2, kNan, kNan, 4, kNan};
  for (const BinaryOp op : {BinaryOp::kMax, BinaryOp::kMin}) {
    const std::vector<float> out = extremes(op, a, b);
    for (const size_t i : {0, 1, 2, 4}) EXPECT_TRUE(std::isnan(out[i])) << symbol_of(op) << " " << i;
    EXPECT_EQ(out[3], op == BinaryOp::kMax ? 4 : 3);
  }
}

TEST(Nan, IsKnownNotToBeWhereTheFormSaysSo) {
  const Buffer x = make_buffer("x", f32, {4}), n = make_buffer("n", i32, {4});
  const Expr element = load(x, {make_int(0)}), whole = cast(f32, load(n, {make_int(0)}));
  const Expr two = make_float(2), none = make_float(std::nan(""));
  EXPECT_TRUE(is_never_nan(two));
  EXPECT_TRUE(is_never_nan(whole));
  EXPECT_TRUE(is_never_nan(max(two, whole)));
  EXPECT_TRUE(is_never_nan(select(lt(element, two), two, whole)));
  EXPECT_FALSE(is_never_nan(none));
  EXPECT_FALSE(is_never_nan(element));
  EXPECT_FALSE(is_never_nan(max(two, element)));
  EXPECT_FALSE(is_never_nan(select(lt(element, two), two, element)));
  EXPECT_FALSE(is_never_nan(whole * two)) << "0 times infinity";
}

TEST(Nan, IsTestedWhereBothOperandsMayBeOne) {
  const Buffer x = make_buffer("x", f32, {4});
  const Expr a = load(x, {make_int(0)}), b = load(x, {make_int(1)}), zero = make_float(0);
  const auto form = [](const Expr& e, bool assume_finite = false) { return nan_form(as<Binary>(e), assume_finite); };
  EXPECT_EQ(form(max(zero, a)), NanForm::kInOrder);
  EXPECT_EQ(form(max(a, zero)), NanForm::kExchanged);
  EXPECT_EQ(form(min(a, b)), NanForm::kTested);
  EXPECT_EQ(form(max(a, make_float(std::nan("")))), NanForm::kTested);
  for (const Expr& e : {max(zero, a), max(a, zero), min(a, b)}) EXPECT_EQ(form(e, true), NanForm::kInOrder);
}

}  // namespace
}  // namespace hone
