// Ragged tensors at operators: a rule an operator, around its converter.
#include <algorithm>
#include <unordered_set>

#include "compiler/frontend/onnx/ragged/ragged_node.h"

namespace hone::onnx {
namespace {

// Element by element, broadcast as numpy does.
std::optional<Ragged> aligned(const RaggedNode& n, size_t rank) {
  std::optional<Ragged> out;
  for (size_t i = 0; i < n.given.size(); ++i) {
    const auto r = n.ragged(i);
    if (!r) continue;
    HONE_USER_CHECK(rank >= n.in(i).rank()) << to_string(n.in(i).type);
    agree(&out, on_axis(r, static_cast<int64_t>(rank - n.in(i).rank())));
  }
  return out;
}

void pointwise(const RaggedNode& n) {
  n.run();
  const auto r = aligned(n, n.c.outputs[0].rank());
  for (size_t i = 0; i < n.given.size(); ++i)
    HONE_USER_CHECK(!n.ragged(i) || n.in(i).type.shape[n.ragged(i)->axis] == n.c.outputs[0].type.shape[r->axis])
        << "an extent that is known only when it runs is broadcast";
  n.set_all(r);
}

// Rows of the first input by themselves.
void by_rows(const RaggedNode& n) {
  for (size_t i = 1; i < n.given.size(); ++i)
    HONE_USER_CHECK(!n.ragged(i)) << "the extent of its input " << i << " is known only when it runs";
  const auto r = n.ragged(0);
  HONE_USER_CHECK(!r || r->axis == 0) << "the extent of axis " << r->axis << " is known only when it runs";
  n.run();
  HONE_USER_CHECK(!r || n.c.outputs[0].type.shape.at(0) == n.in(0).type.shape[0])
      << "it changes how many rows there are, which is known only when it runs";
  n.set_all(r);
}

// The outputs have as many elements along the axis as there are regions.
void regions(const RaggedNode& n) {
  HONE_USER_CHECK(!n.ragged(0)) << "how many images there are is known only when it runs";
  std::optional<Ragged> r = n.ragged(1);
  agree(&r, n.ragged(2));
  HONE_USER_CHECK(!r || r->axis == 0) << "the extent of axis " << r->axis << " is known only when it runs";
  n.run();
  n.set(0, r);
}

void gemm(const RaggedNode& n) {
  HONE_USER_CHECK(!n.ragged(0) || n.c.number("transA", 0) == 0)
      << "an extent of what is transposed is known only when it runs";
  by_rows(n);
}

void norm(const RaggedNode& n) {
  const auto r = n.ragged(0);
  const auto axis = static_cast<size_t>(axis_of(n.c.number("axis", -1), n.in(0).rank()));
  HONE_USER_CHECK(!r || r->axis < axis) << "the extent of a normalized axis is known only when it runs";
  n.run();
  n.set_all(r);
}

// Operators that handle ragged inputs themselves.
void as_given(const RaggedNode& n) {
  n.c.inputs = n.given;
  n.run();
}

const RuleTable& rules() {
  static const RuleTable all = [] {
    RuleTable t = {{"Identity", &pointwise},         {"Dropout", &pointwise},     {"Gemm", &gemm},
                   {"LayerNormalization", &norm},    {"RMSNormalization", &norm}, {"RoiAlign", &regions},
                   {"LpNormalization", &norm},       {"NonZero", &as_given},      {"Compress", &as_given},
                   {"NonMaxSuppression", &as_given}, {"Unique", &as_given}};
    for (const char* op : {"Conv", "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool",
                           "LpPool", "GlobalLpPool", "BatchNormalization", "InstanceNormalization",
                           "GroupNormalization", "Resize", "DepthToSpace", "SpaceToDepth"})
      t[op] = &by_rows;
    add_view_rules(t);
    add_position_rules(t);
    add_order_rules(t);
    return t;
  }();
  return all;
}

// Operators with parameters (axes, shapes) in the inputs behind the first, and operators with only such inputs.
const std::unordered_set<std::string_view>& takes_numbers() {
  static const std::unordered_set<std::string_view> all = {
      "Reshape",    "Expand",   "Slice",     "Squeeze",         "Unsqueeze",    "TopK",
      "Split",      "CumSum",   "ReduceSum", "ReduceMean",      "ReduceMax",    "ReduceMin",
      "ReduceProd", "ReduceL1", "ReduceL2",  "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"};
  return all;
}

const std::unordered_set<std::string_view>& takes_numbers_only() {
  static const std::unordered_set<std::string_view> all = {"ConstantOfShape", "Range"};
  return all;
}

const ConverterTable& pointwise_converters() {
  static const ConverterTable table = [] {
    ConverterTable t;
    add_pointwise_operators(t);
    return t;
  }();
  return table;
}

}  // namespace

bool is_ragged(const NodeContext& c) {
  return std::any_of(c.inputs.begin(), c.inputs.end(),
                     [](const std::optional<Operand>& x) { return x && (x->ragged || x->least); });
}

void run_ragged(NodeContext& c, Converter convert) {
  const std::string& op = c.node.op_type();
  const bool is_own = c.node.domain().empty() || c.node.domain() == "ai.onnx";
  const auto known = is_own ? rules().find(op) : rules().end();
  Rule rule = known != rules().end() ? known->second : nullptr;
  if (!rule && is_own && pointwise_converters().contains(":" + op)) rule = &pointwise;
  for (size_t i = 0; i < c.inputs.size() && !rule; ++i)
    HONE_USER_CHECK(!c.inputs[i] || !c.inputs[i]->ragged)
        << "an extent of its input " << i << " is known only when it runs, which is not supported";
  // A converter without a rule reads only the elements of numbers that are found at run time.
  if (!rule) return convert(c);
  // Axes, shapes and the like: a converter would take them for as many as there may be.
  const size_t first = takes_numbers_only().contains(op) ? 0 : 1;
  for (size_t i = first; i < c.inputs.size() && (first == 0 || takes_numbers().contains(op)); ++i)
    HONE_USER_CHECK(!c.inputs[i] || !c.inputs[i]->ragged)
        << "how many numbers its input " << i << " has is known only when it runs";
  const RaggedNode n(c, convert);
  rule(n);
  if (rule != &as_given) bound_outputs(n);
}

}  // namespace hone::onnx
