// Operators that work element by element.
#include <cmath>
#include <span>

#include "compiler/frontend/onnx/node/encoded_node.h"
#include "compiler/frontend/onnx/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

// ONNX's name and the function's.
struct Named {
  const char *onnx, *name;
};
constexpr Named kUnary[] = {{"Relu", "relu"},
                            {"Abs", "abs"},
                            {"Neg", "neg"},
                            {"Sqrt", "sqrt"},
                            {"Reciprocal", "reciprocal"},
                            {"Exp", "exp"},
                            {"Log", "log"},
                            {"Tanh", "tanh"},
                            {"Erf", "erf"},
                            {"Sigmoid", "sigmoid"},
                            {"HardSwish", "hard_swish"},
                            {"Softplus", "softplus"},
                            {"Mish", "mish"},
                            {"Round", "round"},
                            {"Floor", "floor"},
                            {"Ceil", "ceil"},
                            {"Sign", "sign"},
                            {"Softsign", "softsign"},
                            {"Sin", "sin"},
                            {"Cos", "cos"},
                            {"Tan", "tan"},
                            {"Asin", "asin"},
                            {"Acos", "acos"},
                            {"Atan", "atan"},
                            {"Sinh", "sinh"},
                            {"Cosh", "cosh"},
                            {"Asinh", "asinh"},
                            {"Acosh", "acosh"},
                            {"Atanh", "atanh"},
                            {"Not", "not"},
                            {"BitwiseNot", "bitwise_not"},
                            {"IsNaN", "is_nan"}};
constexpr Named kBinary[] = {{"Add", "add"},
                             {"Sub", "sub"},
                             {"Mul", "mul"},
                             {"Div", "div"},
                             {"Pow", "pow"},
                             {"And", "and"},
                             {"Or", "or"},
                             {"Xor", "xor"},
                             {"BitwiseAnd", "bitwise_and"},
                             {"BitwiseOr", "bitwise_or"},
                             {"BitwiseXor", "bitwise_xor"},
                             {"Equal", "equal"},
                             {"Less", "less"},
                             {"LessOrEqual", "less_equal"},
                             {"Greater", "greater"},
                             {"GreaterOrEqual", "greater_equal"},
                             {"PRelu", "prelu"}};

const char* function_of(std::span<const Named> table, const std::string& onnx) {
  for (const Named& f : table)
    if (onnx == f.onnx) return f.name;
  return nullptr;
}

void unary(NodeContext& c) { c.outputs[0] = c.l.pointwise(function_of(kUnary, c.node.op_type()), {c.in(0)}); }

// Before opset 7 the second operand could be aligned with an axis of the first.
Operand aligned(const NodeContext& c, const Operand& a, const Operand& b) {
  if (c.opset >= 7) return b;
  // A slope for each channel.
  if (c.node.op_type() == "PRelu" && b.rank() == 1 && a.rank() > 1 && b.type.shape[0] == a.type.shape[1]) {
    Extents shape(a.rank() - 1, 1);
    shape[0] = b.type.shape[0];
    return c.l.reshape(b, shape);
  }
  if (c.number("broadcast", 0) == 0 || !c.find("axis")) return b;
  const int64_t axis = axis_of(c.number("axis", 0), a.rank());
  Extents shape = b.type.shape;
  HONE_USER_CHECK(static_cast<size_t>(axis) + shape.size() <= a.rank()) << "axis " << axis;
  shape.resize(a.rank() - static_cast<size_t>(axis), 1);
  return c.l.reshape(b, shape);
}

// The power of integers in f64: a result within rounding of an integer is that integer, others are truncated.
void power_of_integers(NodeContext& c, const Operand& a, const Operand& b) {
  Lowering& l = c.l;
  const Operand v = l.pointwise("pow", {l.cast(a, f64), l.cast(b, f64)}), whole = l.pointwise("round", {v});
  const Operand error = l.pointwise("abs", {l.pointwise("sub", {v, whole})}),
                most = l.pointwise("mul[0.000000000001]", {l.pointwise("abs", {v})});
  const Operand near = l.pointwise("where", {whole, l.pointwise("less_equal", {error, most}), v});
  c.outputs[0] = l.cast(near, a.type.dtype);
}

// A shift of unsigned numbers, by one bit of the distance after the other: bit k is a factor or divisor of 2^(2^k).
void shift(NodeContext& c) {
  Operand x = c.in(0);
  const Operand& by = c.in(1);
  const std::string direction = c.text("direction", "");
  HONE_USER_CHECK(direction == "LEFT" || direction == "RIGHT") << "direction=" << direction;
  HONE_USER_CHECK(x.type.dtype.code == TypeCode::kUInt && by.type.dtype == x.type.dtype)
      << to_string(x.type) << " by " << to_string(by.type);
  for (int64_t bit = 1; bit < x.type.dtype.bits; bit *= 2) {
    const DType t = x.type.dtype;
    const Operand rest =
        c.l.pointwise("mod", {c.l.pointwise("div", {by, c.l.number(static_cast<double>(bit), t)}), c.l.number(2, t)});
    const Operand is_set = c.l.pointwise("equal", {rest, c.l.number(1, t)});
    const Operand moved =
        c.l.pointwise(direction == "LEFT" ? "mul" : "div", {x, c.l.number(std::ldexp(1.0, static_cast<int>(bit)), t)});
    x = c.l.pointwise("where", {moved, is_set, x});
  }
  c.outputs[0] = x;
}

void is_infinite(NodeContext& c) {
  const Operand &x = c.in(0), zero = c.l.number(0, x.type.dtype);
  const bool positive = c.number("detect_positive", 1) != 0, negative = c.number("detect_negative", 1) != 0;
  Operand out = c.l.pointwise("is_inf", {x});
  if (!positive) out = c.l.pointwise("and", {out, c.l.pointwise("less", {x, zero})});
  if (!negative) out = c.l.pointwise("and", {out, c.l.pointwise("greater", {x, zero})});
  c.outputs[0] = out;
}

void binary(NodeContext& c) {
  const Operand& a = c.in(0);
  Operand b = aligned(c, a, c.in(1));
  if (c.node.op_type() == "Pow" && a.type.dtype.is_integer()) return power_of_integers(c, a, b);
  if (c.node.op_type() == "Pow") b = c.l.cast(b, a.type.dtype);
  HONE_USER_CHECK(b.type.dtype == a.type.dtype) << to_string(a.type) << " and " << to_string(b.type);
  c.outputs[0] = c.l.pointwise(function_of(kBinary, c.node.op_type()), {a, b});
}

void mod(NodeContext& c) { c.outputs[0] = c.l.pointwise(c.number("fmod", 0) ? "fmod" : "mod", {c.in(0), c.in(1)}); }

// Max, Min, Sum, Mean of any number of tensors.
void of_many(NodeContext& c) {
  const std::string& op = c.node.op_type();
  const std::string function = op == "Max" ? "maximum" : op == "Min" ? "minimum" : "add";
  Operand value = c.in(0);
  for (size_t i = 1; i < c.inputs.size(); ++i) value = c.l.pointwise(function, {value, c.in(i)});
  if (op == "Mean" && c.inputs.size() > 1)
    value = c.l.pointwise("mul[" + number_text(1.0 / static_cast<double>(c.inputs.size()), value.type.dtype) + "]",
                          {value});
  c.outputs[0] = value;
}

void clip(NodeContext& c) {
  Operand value = c.in(0);
  const DType t = value.type.dtype;
  // Attributes before opset 11, inputs since.
  const auto bound = [&](size_t input, std::string_view attribute, const char* function) {
    if (c.opset < 11 && c.find(attribute))
      value = c.l.pointwise(fmt::format("{}[{}]", function, number_text(c.real(attribute, 0), t)), {value});
    if (c.opset >= 11 && c.has(input)) value = c.l.pointwise(function, {value, c.in(input)});
  };
  bound(1, "min", "maximum");
  bound(2, "max", "minimum");
  c.outputs[0] = value;
}

void where(NodeContext& c) { c.outputs[0] = c.l.pointwise("where", {c.in(1), c.in(0), c.in(2)}); }

void cast_to(NodeContext& c, const ElementType& to) {
  const Operand& x = c.in(0);
  if (to.encoding != Encoding::kPlain && x.encoding == to.encoding) return void(c.outputs[0] = x);
  const Operand numbers = decoded(c.l, x);
  c.outputs[0] = to.encoding == Encoding::kPlain ? c.l.cast(numbers, to.dtype)
                                                 : encoded(c.l, numbers, to.encoding, rounding_of(c));
}
void cast(NodeContext& c) { cast_to(c, element_type_of(static_cast<int>(c.number("to", 0)), "")); }
void cast_like(NodeContext& c) { cast_to(c, {c.in(1).type.dtype, c.in(1).encoding}); }

void gelu(NodeContext& c) {
  c.outputs[0] = c.l.pointwise(c.text("approximate", "none") == "tanh" ? "gelu_tanh" : "gelu", {c.in(0)});
}

// x * sigmoid(alpha x)
void swish(NodeContext& c) {
  const Operand& x = c.in(0);
  const double alpha = c.real("alpha", 1);
  if (alpha == 1) return void(c.outputs[0] = c.l.pointwise("silu", {x}));
  if (x.type.dtype.is_narrow_float()) return run_in_f32(c, &swish);
  const auto scaled = fmt::format("mul[{}]", number_text(alpha, x.type.dtype));
  c.outputs[0] = c.l.pointwise("mul", {x, c.l.pointwise("sigmoid", {c.l.pointwise(scaled, {x})})});
}

// Functions with numbers: name of the function, then attributes and their defaults.
struct Parametric {
  const char *onnx, *name;
  std::pair<const char*, double> first, second;
};
constexpr Parametric kParametric[] = {
    {"LeakyRelu", "leaky", {"alpha", 0.01}, {}},
    {"Shrink", "shrink", {"lambd", 0.5}, {"bias", 0.0}},
    {"Elu", "elu", {"alpha", 1.0}, {}},
    {"Celu", "celu", {"alpha", 1.0}, {}},
    {"ThresholdedRelu", "thresholded_relu", {"alpha", 1.0}, {}},
    {"HardSigmoid", "hard_sigmoid", {"alpha", 0.2f}, {"beta", 0.5}},
    {"Selu", "selu", {"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}},
};

void parametric(NodeContext& c) {
  for (const Parametric& p : kParametric) {
    if (c.node.op_type() != p.onnx) continue;
    const DType t = c.in(0).type.dtype;
    std::string text = fmt::format("{}[{}", p.name, number_text(c.real(p.first.first, p.first.second), t));
    if (p.second.first) text += ";" + number_text(c.real(p.second.first, p.second.second), t);
    c.outputs[0] = c.l.pointwise(text + "]", {c.in(0)});
  }
}

}  // namespace

void add_pointwise_operators(ConverterTable& t) {
  for (const Named& f : kUnary) t[std::string(":") + f.onnx] = &unary;
  for (const Named& f : kBinary) t[std::string(":") + f.onnx] = &binary;
  for (const Parametric& p : kParametric) t[std::string(":") + p.onnx] = &parametric;
  for (const char* op : {"Max", "Min"}) t[std::string(":") + op] = &of_many;
  for (const char* op : {"Sum", "Mean"}) t[std::string(":") + op] = &in_f32<&of_many>;
  t[":Mod"] = &mod;
  t[":BitShift"] = &shift;
  t[":IsInf"] = &is_infinite;
  t[":Clip"] = &clip;
  t[":Where"] = &where;
  t[":Cast"] = &cast;
  t[":CastLike"] = &cast_like;
  t[":Gelu"] = &gelu;
  t[":Swish"] = &swish;
}

}  // namespace hone::onnx
