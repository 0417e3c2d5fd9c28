// Operators that optimizers fused, taken apart again: Hone's own passes decide what to fuse. com.microsoft.
#include "compiler/frontend/onnx/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

Operand with_bias(const NodeContext& c, size_t bias) {
  return c.has(bias) ? c.l.pointwise("add", {c.in(0), c.in(bias)}) : c.in(0);
}

void exact_gelu(NodeContext& c) { c.outputs[0] = c.l.pointwise("gelu", {c.in(0)}); }
void bias_gelu(NodeContext& c) { c.outputs[0] = c.l.pointwise("gelu", {with_bias(c, 1)}); }
void fast_gelu(NodeContext& c) { c.outputs[0] = c.l.pointwise("gelu_tanh", {with_bias(c, 1)}); }

// x / (1 + exp(-alpha x))
void quick_gelu(NodeContext& c) {
  const Operand& x = c.in(0);
  const double alpha = c.real("alpha", 1.702f);
  if (alpha == 1) return void(c.outputs[0] = c.l.pointwise("silu", {x}));
  const Operand inner = c.l.pointwise("mul[" + number_text(alpha, x.type.dtype) + "]", {x});
  c.outputs[0] = c.l.pointwise("mul", {x, c.l.pointwise("sigmoid", {inner})});
}

void bias_add(NodeContext& c) { c.outputs[0] = c.l.pointwise("add", {with_bias(c, 1), c.in(2)}); }

// The last axis in halves: one by the gelu of the other.
void bias_split_gelu(NodeContext& c) {
  const Operand x = with_bias(c, 1);
  HONE_USER_CHECK(x.rank() >= 1 && x.type.shape.back() % 2 == 0) << to_string(x.type);
  Extents begin(x.rank(), 0), size = x.type.shape;
  size.back() /= 2;
  const Operand left = c.l.slice(x, begin, Extents(x.rank(), 1), size);
  begin.back() = size.back();
  const Operand right = c.l.slice(x, begin, Extents(x.rank(), 1), size);
  c.outputs[0] = c.l.pointwise("mul", {left, c.l.pointwise("gelu", {right})});
}

// `parameters`: those of the activation, in the order of ONNX's attributes.
Operand activated(Lowering& l, const Operand& x, const std::string& activation, const std::vector<double>& parameters) {
  const auto number = [&](size_t i, double fallback) {
    return number_text(i < parameters.size() ? parameters[i] : fallback, x.type.dtype);
  };
  if (activation.empty()) return x;
  if (activation == "Relu") return l.pointwise("relu", {x});
  if (activation == "Tanh") return l.pointwise("tanh", {x});
  if (activation == "Sigmoid") return l.pointwise("sigmoid", {x});
  if (activation == "HardSwish") return l.pointwise("hard_swish", {x});
  if (activation == "Softplus") return l.pointwise("softplus", {x});
  if (activation == "LeakyRelu") return l.pointwise("leaky[" + number(0, 0.01) + "]", {x});
  if (activation == "Elu") return l.pointwise("elu[" + number(0, 1) + "]", {x});
  if (activation == "HardSigmoid")
    return l.pointwise("hard_sigmoid[" + number(0, 0.2f) + ";" + number(1, 0.5) + "]", {x});
  if (activation == "Clip" && parameters.size() == 2)
    return l.pointwise("minimum[" + number(1, 0) + "]", {l.pointwise("maximum[" + number(0, 0) + "]", {x})});
  throw UserError("the activation " + activation + " is not supported");
}

// The outputs of ONNX's own operator of this name.
Operand as_plain(NodeContext& c, const char* row, std::vector<std::optional<Operand>> inputs) {
  NodeContext plain{c.node, 13, std::move(inputs), {Operand{}}, c.l, {}};
  converters().at(row)(plain);
  return plain.outputs[0];
}

// A convolution, another tensor added, an activation.
void fused_conv(NodeContext& c) {
  Operand out = as_plain(c, ":Conv", {c.in(0), c.in(1), c.has(2) ? c.inputs[2] : std::nullopt});
  if (c.has(3)) out = c.l.pointwise("add", {out, c.in(3)});
  std::vector<double> parameters;
  if (const Attribute* a = c.find("activation_params")) parameters.assign(a->floats().begin(), a->floats().end());
  c.outputs[0] = activated(c.l, out, c.text("activation", ""), parameters);
}

void fused_gemm(NodeContext& c) {
  const Operand out = as_plain(c, ":Gemm", {c.in(0), c.in(1), c.has(2) ? c.inputs[2] : std::nullopt});
  std::vector<double> parameters;
  for (const char* name : {"activation_alpha", "activation_beta"})
    if (c.find(name)) parameters.push_back(c.real(name, 0));
  c.outputs[0] = activated(c.l, out, c.text("activation", ""), parameters);
}

// A product's factor, transposed: its first axis behind the batch's other axes, or its last two axes exchanged.
Operand turned(NodeContext& c, const Operand& x, const char* batch, const char* last) {
  const bool first_goes = c.number(batch, 0) != 0, exchanges = c.number(last, 0) != 0;
  if ((!first_goes && !exchanges) || x.rank() < 2) return x;
  Extents perm;
  for (size_t d = 0; d < x.rank(); ++d) perm.push_back(static_cast<int64_t>(d));
  if (first_goes) {
    HONE_USER_CHECK(x.rank() >= 3) << batch << " of " << to_string(x.type);
    std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  }
  if (exchanges) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return c.l.transpose(x, perm);
}

void fused_matmul(NodeContext& c) {
  Operand out = as_plain(c, ":MatMul",
                         {turned(c, c.in(0), "transBatchA", "transA"), turned(c, c.in(1), "transBatchB", "transB")});
  if (const double alpha = c.real("alpha", 1); alpha != 1)
    out = c.l.pointwise("mul[" + number_text(alpha, out.type.dtype) + "]", {out});
  c.outputs[0] = out;
}

}  // namespace

void add_fused_operators(ConverterTable& t) {
  t["com.microsoft:Gelu"] = &exact_gelu;
  t["com.microsoft:BiasGelu"] = &bias_gelu;
  t["com.microsoft:FastGelu"] = &fast_gelu;
  t["com.microsoft:QuickGelu"] = &in_f32<&quick_gelu>;
  t["com.microsoft:BiasAdd"] = &bias_add;
  t["com.microsoft:BiasSplitGelu"] = &bias_split_gelu;
  t["com.microsoft:FusedConv"] = &fused_conv;
  t["com.microsoft:FusedGemm"] = &fused_gemm;
  t["com.microsoft:FusedMatMul"] = &fused_matmul;
  t["com.microsoft:TransposeMatMul"] = &fused_matmul;
}

}  // namespace hone::onnx
