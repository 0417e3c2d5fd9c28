// Losses, which some models that were trained still compute.
#include "compiler/frontend/onnx/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

// -weight[target] * x[n, target, …], of classes that are ignored 0; x is [n, classes, …].
Operand loss_of(NodeContext& c, const Operand& x, const Operand& given, bool has_weight) {
  Lowering& l = c.l;
  HONE_USER_CHECK(x.rank() >= 2 && given.rank() + 1 == x.rank())
      << to_string(given.type) << " classes of " << to_string(x.type);
  Extents positions = x.type.shape;
  positions.erase(positions.begin() + 1);
  HONE_USER_CHECK(given.type.shape == positions) << to_string(given.type) << " classes of " << to_string(x.type);
  HONE_USER_CHECK(!has_weight || c.in(2).type.shape == Extents{x.type.shape[1]})
      << to_string(c.in(2).type) << " weights of the classes of " << to_string(x.type);
  Operand target = l.cast(given, i64);
  std::optional<Operand> counts;
  if (c.find("ignore_index")) {
    const auto ignored = static_cast<double>(c.number("ignore_index", 0));
    counts = l.pointwise("not_equal", {target, l.number(ignored, i64)});
    target = l.pointwise("where", {target, *counts, l.number(0, i64)});
  }
  Extents one_class = target.type.shape;
  one_class.insert(one_class.begin() + 1, 1);
  const Operand chosen = l.add("gather_elements", {{"axis", "1"}}, {l.value(x), l.as(target, one_class)});
  const DType t = x.type.dtype;
  std::optional<Operand> weight;
  if (has_weight) weight = l.add("gather", {{"axis", "0"}}, {l.value(c.in(2)), l.value(target)}, target.type.shape);
  if (counts) weight = weight ? l.pointwise("where", {*weight, *counts, l.number(0, t)}) : l.cast(*counts, t);
  Operand loss = l.reshape(l.pointwise("neg", {chosen}), target.type.shape);
  if (weight) loss = l.pointwise("mul", {loss, *weight});
  if (counts) loss = l.pointwise("where", {loss, *counts, l.number(0, t)});  // not 0 times infinity
  const std::string reduction = c.text("reduction", "mean");
  HONE_USER_CHECK(reduction == "none" || reduction == "sum" || reduction == "mean") << "reduction=" << reduction;
  if (reduction == "none") return loss;
  Extents all;
  for (size_t d = 0; d < loss.rank(); ++d) all.push_back(static_cast<int64_t>(d));
  if (reduction == "mean" && !weight) return l.reduce("mean", loss, all, false);
  const Operand sum = l.reduce("sum", loss, all, false);
  return reduction == "sum" ? sum : l.pointwise("div", {sum, l.reduce("sum", *weight, all, false)});
}

void negative_log_likelihood(NodeContext& c) { c.outputs[0] = loss_of(c, c.in(0), c.in(1), c.has(2)); }

void softmax_cross_entropy(NodeContext& c) {
  const Operand& x = c.in(0);
  HONE_USER_CHECK(x.rank() >= 2) << to_string(x.type);
  const Operand log = c.l.add("log_softmax", {{"axis", "1"}}, {c.l.value(x)}, x.type.shape);
  c.outputs[0] = loss_of(c, log, c.in(1), c.has(2));
  if (c.outputs.size() > 1) c.outputs[1] = log;
}

}  // namespace

void add_loss_operators(ConverterTable& t) {
  t[":NegativeLogLikelihoodLoss"] = &in_f32<&negative_log_likelihood>;
  t[":SoftmaxCrossEntropyLoss"] = &in_f32<&softmax_cross_entropy>;
}

}  // namespace hone::onnx
