// Bounds of numbers that are only found at run time.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "compiler/frontend/onnx/ragged/ragged_node.h"

namespace hone::onnx {
namespace {

// Operators that keep the order of numbers: of the least and of the most that a call may find out they make the least
// and the most. `Sub` and `Div` for their first operand.
const std::unordered_set<std::string_view>& ordered() {
  static const std::unordered_set<std::string_view> all = {
      "Add",     "Mul",    "Min",   "Max",       "Cast",      "Identity",  "Gather",     "Unsqueeze",
      "Squeeze", "Concat", "Slice", "ReduceMin", "ReduceMax", "ReduceSum", "ReduceProd", "Transpose",
      "Reshape", "Sub",    "Div",   "Split",     "Flatten",   "Expand"};
  return all;
}

}  // namespace

void bound_outputs(const RaggedNode& n) {
  const std::string& op = n.c.node.op_type();
  if (!ordered().contains(op)) return;
  const bool is_turned = op == "Sub" || op == "Div";
  const auto at_end = [&](bool most) -> std::optional<std::vector<TensorData>> {
    NodeContext end{n.c.node, n.c.opset, {}, n.c.outputs, n.c.l, n.c.is_wanted};
    double sum = 0, product = 1;  // of all numbers: no result is larger
    for (size_t i = 0; i < n.given.size(); ++i) {
      const auto& x = n.given[i];
      if (!x) {
        end.inputs.push_back(std::nullopt);
        continue;
      }
      // A gather by unknown positions has no bounds: a larger position may give a larger or a smaller number.
      if (x->ragged || (op == "Gather" && i == 1 && x->least)) return std::nullopt;
      const bool takes_most = is_turned && i == 1 ? !most : most;
      const auto data = x->least ? takes_most ? x->known : x->least : n.l().data_of(*x);
      if (!data || !data->type().dtype.is_integer()) return std::nullopt;
      const std::vector<int64_t> numbers = data->numbers();
      const bool is_negative = std::any_of(numbers.begin(), numbers.end(), [](int64_t v) { return v < 0; });
      const bool has_zero = std::any_of(numbers.begin(), numbers.end(), [](int64_t v) { return v == 0; });
      if (is_negative && (op == "Mul" || op == "Div" || op == "ReduceProd")) return std::nullopt;
      if (has_zero && op == "Div" && i == 1) return std::nullopt;
      for (const int64_t v : numbers) {
        const double size = std::abs(static_cast<double>(v));
        sum += size;
        product *= std::max(1.0, size);
      }
      end.inputs.push_back(n.l().constant(*data));
    }
    try {
      n.convert(end);
    } catch (const UserError&) {
      return std::nullopt;  // a shape of the least numbers need not fit
    }
    std::vector<TensorData> out;
    for (const Operand& x : end.outputs) {
      const auto data = n.l().data_of(x);
      if (!data || !data->type().dtype.is_integer()) return std::nullopt;
      // Nothing may overflow.
      if (std::max(sum, product) >= std::ldexp(1.0, data->type().dtype.bytes() * 8 - 2)) return std::nullopt;
      out.push_back(*data);
    }
    return out;
  };
  const auto least = at_end(false), most = at_end(true);
  if (!least || !most) return;
  for (size_t o = 0; o < n.c.outputs.size(); ++o) {
    Operand& x = n.c.outputs[o];
    if (x.ragged || x.is_empty() || n.l().data_of(x) || (*least)[o].type() != x.type) continue;
    x.least = (*least)[o];
    x.known = (*most)[o];
  }
}

}  // namespace hone::onnx
