#include <algorithm>

#include "compiler/graph/passes/axes.h"
#include "compiler/graph/passes/rewriter.h"

namespace hone {
namespace {

// Operands that had to be repeated are read like others: that must be little beside the image.
constexpr int64_t kImageToOperand = 16;

class TransposeSinker : public Rewriter {
 public:
  using Rewriter::Rewriter;

  // The elementwise node goes in front of the movements between it and an operator with an epilogue; at least a
  // transpose among them, for views alone do not keep the two apart.
  bool rewrite(const Node& e) {
    if (!is<ops::Elementwise>(e) || shape(e.inputs[0]) != shape(e.outputs[0])) return false;
    std::vector<ValueId> operands;
    for (size_t i = 1; i < e.inputs.size(); ++i) {
      if (e.inputs[i] == e.inputs[0]) return false;
      Extents own = shape(e.inputs[i]);
      own.insert(own.begin(), shape(e.outputs[0]).size() - own.size(), 1);
      operands.push_back(with_shape(now(e.inputs[i]), own));
    }
    std::vector<const Node*> passed;  // movements, the last one first
    const Node* n = own_producer(e.inputs[0]);
    for (; n && is<ops::Transpose, ops::Reshape>(*n) && all_in_front(*n, &operands); n = own_producer(n->inputs[0]))
      passed.push_back(n);
    // The view that the operator's result is seen under may stay between the two.
    if (n && is<ops::Reshape>(*n)) n = own_producer(n->inputs[0]);
    if (!n || !n->workload.attributes.has("epilogue") ||
        std::none_of(passed.begin(), passed.end(), &if_is<ops::Transpose>))
      return false;
    ValueId made = b_.elementwise(e.workload.attributes.text("op"), now(passed.back()->inputs[0]), operands);
    for (size_t k = passed.size(); k-- > 0;) {
      const Node& m = *passed[k];
      made = is<ops::Transpose>(m) ? b_.transpose(made, perm_of(m), k == 0 ? name(e.outputs[0]) : "")
                                   : with_shape(made, shape(m.outputs[0]));
    }
    return replace(e, made);
  }

 private:
  // An operand of the image behind `movement`, as an operand of the one in front of it; nothing where it would have to
  // be moved or repeated while the model runs.
  std::optional<ValueId> in_front(const Node& movement, ValueId operand) {
    if (is<ops::Reshape>(movement)) return seen_before(movement, operand);
    const Extents& perm = perm_of(movement);
    Extents inverse(perm.size());
    for (size_t d = 0; d < perm.size(); ++d) inverse[static_cast<size_t>(perm[d])] = static_cast<int64_t>(d);
    if (!b_.constant_of(operand) && !keeps_order(b_.type(operand).shape, inverse)) return std::nullopt;
    return b_.transpose(operand, inverse);
  }

  // Axes that hold the same elements on both sides of a reshape are a group. In each an operand has all of them, or one
  // for all; where it has some, it is repeated.
  std::optional<ValueId> seen_before(const Node& reshape, ValueId operand) {
    const Extents &before = shape(reshape.inputs[0]), &behind = shape(reshape.outputs[0]);
    const Extents own = b_.type(operand).shape;
    Extents whole, seen;
    size_t i = 0, j = 0;
    while (i < before.size() || j < behind.size()) {
      const size_t first_i = i, first_j = j;
      int64_t in_before = i < before.size() ? before[i++] : 1, in_behind = j < behind.size() ? behind[j++] : 1;
      while (in_before != in_behind) in_before < in_behind ? in_before *= before[i++] : in_behind *= behind[j++];
      const bool is_one = std::all_of(own.begin() + static_cast<std::ptrdiff_t>(first_j),
                                      own.begin() + static_cast<std::ptrdiff_t>(j), [](int64_t e) { return e == 1; });
      for (size_t k = first_j; k < j; ++k) whole.push_back(is_one ? 1 : behind[k]);
      for (size_t k = first_i; k < i; ++k) seen.push_back(is_one ? 1 : before[k]);
    }
    if (whole != own) {
      if (!b_.constant_of(operand) || element_count(whole) * kImageToOperand > element_count(before))
        return std::nullopt;
      operand = b_.broadcast(operand, whole);
    }
    return with_shape(operand, seen);
  }

  // in_front() of all of them; false, and they are as they were, where one is not let through.
  bool all_in_front(const Node& movement, std::vector<ValueId>* operands) {
    std::vector<ValueId> moved;
    for (const ValueId o : *operands) {
      const auto in = in_front(movement, o);
      if (!in) return false;
      moved.push_back(*in);
    }
    *operands = std::move(moved);
    return true;
  }
};

}  // namespace

Graph sink_transposes(const Graph& g, const PassContext& context) { return rewritten_by<TransposeSinker>(g, context); }

}  // namespace hone
