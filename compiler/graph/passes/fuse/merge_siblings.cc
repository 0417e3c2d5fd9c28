#include <algorithm>
#include <map>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/products/product.h"
#include "compiler/ops/rewrite/changed.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

// How many output channels there are; nothing where the operator's outputs do not follow each other in memory:
// convolutions of one image, products of one row.
std::optional<int64_t> channels_of(const Node& n) {
  if (is<ops::Conv2d>(n)) {
    const ConvShape& s = conv_shape(n.workload);
    return s.n == 1 && s.groups == 1 ? std::optional(s.co) : std::nullopt;
  }
  const ProductShape* s = is<ops::Dense>(n) ? &product_shape(n.workload) : nullptr;
  return s && s->m == 1 ? std::optional(s->n) : std::nullopt;
}

class SiblingMerger : public Rewriter {
 public:
  SiblingMerger(const Graph& g, const PassContext& context) : Rewriter(g, context) {
    for (const Node& n : graph().nodes)
      if (may_merge(n)) groups_[key_of(n)].push_back(&n);
  }

  bool rewrite(const Node& n) {
    if (!may_merge(n)) return false;
    const auto& siblings = groups_.at(key_of(n));
    if (siblings.size() < 2) return false;
    if (&n == siblings[0]) add_merged(siblings);
    return true;
  }

 private:
  // Weights and operands of channels that are known, whole blocks of channels, and no reader for whose sake each
  // output should lie elsewhere: a concatenation's parts are written in place.
  bool may_merge(const Node& n) const {
    const auto channels = channels_of(n);
    if (!channels || !has_folding_weights(graph(), n)) return false;
    if (*channels % std::max<int64_t>(1, c_.lanes) != 0) return false;
    const auto of_channels = [&](ValueId v, const Operand& o) {
      return o.kind == Operand::Kind::kChannel && is_constant(v) ? std::optional<Argument>(o) : std::nullopt;
    };
    return bound_epilogue(n).change_operands(of_channels) && !is_joined(n.outputs[0]);
  }
  bool is_joined(ValueId v) const {
    const std::vector<const Node*> all = readers(v);
    return is_output(v) || std::any_of(all.begin(), all.end(), [&](const Node* reader) {
             return is<ops::Concat>(*reader) || (is<ops::Reshape>(*reader) && is_joined(reader->outputs[0]));
           });
  }

  // Equal for nodes that differ in nothing but their constants and the number of their channels.
  std::string key_of(const Node& n) const {
    return std::to_string(n.inputs[0]) + " " + to_string(with_output_channels(n.workload, 1));
  }

  void add_merged(const std::vector<const Node*>& siblings) {
    const Node& first = *siblings[0];
    int64_t all = 0;
    std::string origin;
    for (const Node* n : siblings) {
      all += *channels_of(*n);
      origin += (origin.empty() ? "" : " + ") + n->origin;
    }
    b_.set_origin(origin);
    std::vector<ValueId> inputs{now(first.inputs[0])};
    for (size_t i = 1; i < first.inputs.size(); ++i) inputs.push_back(stacked(siblings, i));
    const ValueId merged = b_.add(with_output_channels(first.workload, all), inputs)[0];
    const size_t axis = b_.type(merged).shape.size() == 4 ? 1 : b_.type(merged).shape.size() - 1;
    int64_t begin = 0;
    for (const Node* n : siblings) {
      const Extents& part = shape(n->outputs[0]);
      Extents from(part.size(), 0);
      from[axis] = begin;
      begin += part[axis];
      replace(*n, b_.slice(merged, from, part, {}, name(n->outputs[0])));
    }
  }

  // Constants number `input` of all siblings behind each other, along their first axis.
  ValueId stacked(const std::vector<const Node*>& siblings, size_t input) {
    std::string bytes;
    TensorType all = type(siblings[0]->inputs[input]);
    all.shape[0] = 0;
    for (const Node* n : siblings) {
      const std::span<const char> own = data(n->inputs[input]).bytes();
      bytes.append(own.data(), own.size());
      all.shape[0] += shape(n->inputs[input])[0];
    }
    return b_.constant(TensorData(all, std::move(bytes)), name(siblings[0]->inputs[input]));
  }

  std::map<std::string, std::vector<const Node*>> groups_;  ///< by key
};

}  // namespace

Graph merge_siblings(const Graph& g, const PassContext& context) { return rewritten_by<SiblingMerger>(g, context); }

}  // namespace hone
