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
    std::vector<const Node*> moves;  // the last one first
    const Node* n = own_producer(e.inputs[0]);
    for (; n && is<ops::Transpose, ops::Reshape>(*n); n = own_producer(n->inputs[0])) moves.push_back(n);
    if (!n || !n->workload.attributes.has("epilogue") ||
        std::none_of(moves.begin(), moves.end(), &if_is<ops::Transpose>))
      return false;
    std::vector<ValueId> operands;
    for (size_t i = 1; i < e.inputs.size(); ++i) {
      std::optional<ValueId> operand = now(e.inputs[i]);
      for (const Node* m : moves)
        if (operand = in_front(*m, *operand); !operand) return false;
      operands.push_back(*operand);
    }
    ValueId made = b_.elementwise(e.workload.attributes.text("op"), now(moves.back()->inputs[0]), operands);
    for (size_t m = moves.size(); m-- > 0;) {
      const Node& move = *moves[m];
      made = is<ops::Transpose>(move) ? b_.transpose(made, perm_of(move), m == 0 ? name(e.outputs[0]) : "")
                                      : with_shape(made, shape(move.outputs[0]));
    }
    return replace(e, made);
  }

 private:
  // An operand of the image behind a movement, as an operand of the one in front of it; nothing where it would have to
  // be moved or repeated while the model runs.
  std::optional<ValueId> in_front(const Node& move, ValueId operand) {
    const Extents own = b_.type(operand).shape, &before = shape(move.inputs[0]);
    const bool is_known = b_.constant_of(operand) != nullptr;
    if (is<ops::Transpose>(move)) {
      const Extents inverse = inverse_of(perm_of(move));
      return is_known || keeps_order(own, inverse) ? std::optional(b_.transpose(operand, inverse)) : std::nullopt;
    }
    const SeenOperand seen = seen_with(own, shape(move.outputs[0]), before);
    const bool is_little = is_known && element_count(seen.whole) * kImageToOperand <= element_count(before);
    if (seen.whole != own && !is_little) return std::nullopt;
    return with_shape(seen.whole == own ? operand : b_.broadcast(operand, seen.whole), seen.shape);
  }
};

}  // namespace

Graph sink_transposes(const Graph& g, const PassContext& context) { return rewritten_by<TransposeSinker>(g, context); }

}  // namespace hone
