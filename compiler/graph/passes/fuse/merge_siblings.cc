#include <algorithm>
#include <map>

#include "compiler/graph/passes/axes.h"
#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/products/product.h"
#include "compiler/ops/rewrite/changed.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

// Whether the output's channels follow each other in memory: of convolutions of one image, of products of one row.
bool has_channels_in_line(const Node& n) {
  if (is<ops::Conv2d>(n)) return conv_shape(n.workload).n == 1 && conv_shape(n.workload).groups == 1;
  return is<ops::Dense>(n) && product_shape(n.workload).m == 1;
}

class SiblingMerger : public Rewriter {
 public:
  SiblingMerger(const Graph& g, const PassContext& context) : Rewriter(g, context) {
    for (const Node& n : graph().nodes) siblings_[key_of(n)].push_back(&n);
  }

  bool rewrite(const Node& n) {
    const std::string key = key_of(n);
    const std::vector<const Node*>& siblings = siblings_[key];
    if (key.empty() || siblings.size() < 2) return false;
    if (&n == siblings[0]) add_merged(siblings);
    return true;
  }

 private:
  // Equal for nodes that differ in nothing but their constants and the number of their channels; empty for those that
  // are not merged. Weights and operands of channels are known, blocks of channels whole, and no output is better off
  // elsewhere: a concatenation's parts are written in place.
  std::string key_of(const Node& n) const {
    const auto of_channels = [&](ValueId v, const Operand& o) {
      return o.kind == Operand::Kind::kChannel && is_constant(v) ? std::optional<Argument>(o) : std::nullopt;
    };
    if (!has_channels_in_line(n) || !has_folding_weights(graph(), n) ||
        shape(n.inputs[1])[0] % std::max<int64_t>(1, c_.lanes) != 0 ||
        !bound_epilogue(n).change_operands(of_channels) || is_joined(n.outputs[0]))
      return "";
    return std::to_string(n.inputs[0]) + " " + to_string(with_output_channels(n.workload, 1));
  }
  bool is_joined(ValueId v) const {
    const std::vector<const Node*> all = readers(v);
    return is_output(v) || std::any_of(all.begin(), all.end(), [&](const Node* reader) {
             return is<ops::Concat>(*reader) || (is<ops::Reshape>(*reader) && is_joined(reader->outputs[0]));
           });
  }

  void add_merged(const std::vector<const Node*>& siblings) {
    const Node& first = *siblings[0];
    std::string origin;
    for (const Node* n : siblings) origin += (origin.empty() ? "" : " + ") + n->origin;
    b_.set_origin(origin);
    std::vector<ValueId> inputs{now(first.inputs[0])};
    for (size_t i = 1; i < first.inputs.size(); ++i) inputs.push_back(stacked(siblings, i));
    const ValueId merged = b_.add(with_output_channels(first.workload, b_.type(inputs[1]).shape[0]), inputs)[0];
    const size_t axis = channel_axis(b_.type(merged).shape);
    Extents begin(b_.type(merged).shape.size(), 0);
    for (const Node* n : siblings) {
      const Extents& part = shape(n->outputs[0]);
      replace(*n, b_.slice(merged, begin, part, {}, name(n->outputs[0])));
      begin[axis] += part[axis];
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

  std::map<std::string, std::vector<const Node*>> siblings_;  ///< by key
};

}  // namespace

Graph merge_siblings(const Graph& g, const PassContext& context) { return rewritten_by<SiblingMerger>(g, context); }

}  // namespace hone
