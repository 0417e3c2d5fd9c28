// Operators that work element by element.
#include <cmath>
#include <numbers>

#include "compiler/frontend/lowering/ragged.h"
#include "compiler/frontend/tflite/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

// TensorFlow Lite's number and the function.
struct Function {
  int32_t number;
  const char* name;
};
constexpr Function kUnary[] = {{8, "floor"},   {14, "sigmoid"},     {19, "relu"},  {28, "tanh"},     {47, "exp"},
                               {59, "neg"},    {66, "sin"},         {73, "log"},   {75, "sqrt"},     {76, "rsqrt"},
                               {87, "not"},    {92, "square"},      {101, "abs"},  {104, "ceil"},    {108, "cos"},
                               {116, "round"}, {117, "hard_swish"}, {158, "sign"}, {111, "elu[1.0]"}};
constexpr Function kBinary[] = {{55, "maximum"},       {57, "minimum"},    {58, "less"},  {61, "greater"},
                                {62, "greater_equal"}, {63, "less_equal"}, {71, "equal"}, {72, "not_equal"},
                                {78, "pow"},           {84, "or"},         {86, "and"},   {54, "prelu"}};

template <size_t kCount>
const char* function_of(const Function (&table)[kCount], int32_t number) {
  for (const Function& f : table)
    if (f.number == number) return f.name;
  return "";
}

void require_one_type(const Operand& a, const Operand& b) {
  HONE_USER_CHECK(a.type.dtype == b.type.dtype) << to_string(a.type) << " and " << to_string(b.type);
}

void unary(NodeContext& c) { c.outputs[0] = c.l.map(function_of(kUnary, c.number), {c.in(0)}); }

void binary(NodeContext& c) {
  const Operand &a = c.in(0), &b = c.in(1);
  require_one_type(a, b);
  const bool is_power = c.number == 78;
  if (is_power && a.type.dtype.is_integer()) return void(c.outputs[0] = power_of_integers(c.l, a, b));
  c.outputs[0] = c.l.map(function_of(kBinary, c.number), {a, b});
}

// With a fused activation.
template <class Options>
void arithmetic(NodeContext& c, const char* function) {
  require_one_type(c.in(0), c.in(1));
  const Operand out = c.l.map(function, {c.in(0), c.in(1)});
  c.outputs[0] = activated_image(c.l, out, c.option(&Options::activation));
}
void add(NodeContext& c) { arithmetic<file::AddOptions>(c, "add"); }
void sub(NodeContext& c) { arithmetic<file::SubOptions>(c, "sub"); }
void mul(NodeContext& c) { arithmetic<file::MulOptions>(c, "mul"); }
void div(NodeContext& c) { arithmetic<file::DivOptions>(c, "div"); }

void add_n(NodeContext& c) {
  Operand sum = c.in(0);
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    require_one_type(sum, c.in(i));
    sum = c.l.map("add", {sum, c.in(i)});
  }
  c.outputs[0] = sum;
}

// RELU_N1_TO_1, RELU6 and RELU_0_TO_1.
void bounded(NodeContext& c) {
  const Operand& x = c.in(0);
  const auto number = [&](double v) { return c.l.number(v, x.type.dtype); };
  const double least = c.number == 20 ? -1 : 0, most = c.number == 21 ? 6 : 1;
  c.outputs[0] = c.l.map("minimum", {c.l.map("maximum", {x, number(least)}), number(most)});
}

void leaky_relu(NodeContext& c) {
  const double alpha = static_cast<double>(c.option(&file::LeakyReluOptions::alpha));
  const Operand& x = c.in(0);
  c.outputs[0] = c.l.map(fmt::format("leaky[{}]", number_text(alpha, x.type.dtype)), {x});
}

void gelu(NodeContext& c) {
  c.outputs[0] = c.l.map(c.option(&file::GeluOptions::approximate) ? "gelu_tanh" : "gelu", {c.in(0)});
}

void squared_difference(NodeContext& c) {
  require_one_type(c.in(0), c.in(1));
  c.outputs[0] = c.l.map("square", {c.l.map("sub", {c.in(0), c.in(1)})});
}

// The remainder has the divisor's sign.
Operand remainder(NodeContext& c) {
  const Operand &a = c.in(0), &b = c.in(1);
  require_one_type(a, b);
  if (!a.type.dtype.is_float()) return c.l.map("mod", {a, b});
  const Operand whole = c.l.map("floor", {c.l.map("div", {a, b})});
  return c.l.map("sub", {a, c.l.map("mul", {whole, b})});
}
void floor_mod(NodeContext& c) { c.outputs[0] = remainder(c); }
void floor_div(NodeContext& c) {
  const Operand &a = c.in(0), &b = c.in(1);
  require_one_type(a, b);
  c.outputs[0] = a.type.dtype.is_float() ? c.l.map("floor", {c.l.map("div", {a, b})})
                                         : c.l.map("div", {c.l.map("sub", {a, remainder(c)}), b});
}

// SELECT: a condition of one axis chooses among the first extents; SELECT_V2 broadcasts.
void select(NodeContext& c) {
  constexpr int32_t kSelect = 64;
  Operand condition = c.in(0);
  const Operand &a = c.in(1), &b = c.in(2);
  require_one_type(a, b);
  HONE_USER_CHECK(condition.type.dtype.is_bool()) << "a condition " << to_string(condition.type);
  if (c.number == kSelect && condition.rank() == 1 && a.rank() > 1) {
    Extents shape(a.rank(), 1);
    shape[0] = condition.type.shape[0];
    condition = c.l.reshape(condition, shape);
  }
  c.outputs[0] = c.l.map("where", {a, condition, b});
}

// The angle of (x, y) from the first axis: that of the smaller size over the larger one, an eighth of a turn at most,
// mirrored into the eighth where the point is. 1 / x tells -0 from 0.
void angle(NodeContext& c) {
  const Operand &y = c.in(0), &x = c.in(1);
  require_one_type(y, x);
  HONE_USER_CHECK(x.type.dtype == f32 || x.type.dtype == f64) << to_string(x.type);
  ImageLowering& l = c.l;
  const auto number = [&](double v) { return l.number(v, x.type.dtype); };
  const auto is_negative = [&](const Operand& v) {
    const Operand below = l.map("less", {v, number(0)}), is_zero = l.map("equal", {v, number(0)});
    return l.map("or", {below, l.map("and", {is_zero, l.map("less", {l.map("reciprocal", {v}), number(0)})})});
  };
  const auto either = [&](const Operand& condition, const Operand& a, const Operand& b) {
    return l.map("where", {a, condition, b});
  };
  const Operand width = l.map("abs", {x}), height = l.map("abs", {y});
  const Operand small = l.map("minimum", {width, height}), large = l.map("maximum", {width, height});
  // 0 / 0 and infinities of one size.
  const Operand are_one = l.map("equal", {small, large}), are_zero = l.map("equal", {large, number(0)});
  const Operand ratio = either(are_zero, number(0), either(are_one, number(1), l.map("div", {small, large})));
  const Operand in_eighth = l.map("atan", {ratio});
  const Operand in_quarter =
      either(l.map("greater", {height, width}), l.map("sub", {number(std::numbers::pi / 2), in_eighth}), in_eighth);
  const Operand in_half = either(is_negative(x), l.map("sub", {number(std::numbers::pi), in_quarter}), in_quarter);
  c.outputs[0] = either(is_negative(y), l.map("neg", {in_half}), in_half);
}

void cast(NodeContext& c) {
  const DType to = c.type_of_output(0);
  const auto length = c.in(0).ragged;
  c.outputs[0] = c.in(0).type.dtype == to ? c.in(0) : c.l.map("cast:" + to_string(to), {whole(c.in(0))});
  c.outputs[0].ragged = length;
}

}  // namespace

void add_pointwise_operators(ConverterTable& t) {
  for (const Function& f : kUnary) t.own[f.number] = {&unary};
  for (const Function& f : kBinary) t.own[f.number] = {&binary};
  t.own[0] = {&add};
  t.own[18] = {&mul};
  t.own[41] = {&sub};
  t.own[42] = {&div};
  t.own[20] = t.own[21] = t.own[152] = {&bounded};
  t.own[53] = {&cast, Numbers::kAsIs, false, false, true};
  t.own[64] = t.own[123] = {&select, Numbers::kMoved};
  // Whole numbers are taken as they are, whatever scales they have.
  t.own[90] = {&floor_div, Numbers::kAsIs};
  t.own[95] = {&floor_mod, Numbers::kAsIs};
  t.own[98] = {&leaky_relu};
  t.own[99] = {&squared_difference};
  t.own[106] = {&add_n};
  t.own[150] = {&gelu};
  t.own[156] = {&angle};
}

}  // namespace hone::tflite
