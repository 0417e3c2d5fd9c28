#include <algorithm>
#include <unordered_map>

#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"

namespace hone {
namespace {

class SequenceWidener : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    const auto is_sequence = [&](ValueId v) { return shape(v).size() == 3; };
    const ValueId out = n.outputs[0];
    if (is<ops::Reshape>(n) && is_sequence(out) && shape(n.inputs[0]) == image_of(shape(out)))
      images_.emplace(out, now(n.inputs[0]));
    if (!is<ops::Elementwise, ops::Concat, ops::Slice>(n) ||
        !std::all_of(n.inputs.begin(), n.inputs.end(), is_sequence) ||
        std::none_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) { return images_.contains(v); }))
      return false;
    std::vector<ValueId> inputs;
    for (const ValueId v : n.inputs)
      inputs.push_back(images_.contains(v) ? images_.at(v) : with_shape(now(v), image_of(shape(v))));
    images_.emplace(out, image_made_by(n, std::move(inputs), name(out)));
    return replace(n, images_.at(out));
  }

 private:
  static Extents image_of(const Extents& s, int64_t height = 1) { return {s[0], s[1], height, s[2]}; }

  // Adds the node's operation on images in place of sequences.
  ValueId image_made_by(const Node& n, std::vector<ValueId> images, const std::string& name) {
    const Attributes& a = n.workload.attributes;
    if (is<ops::Elementwise>(n))
      return b_.elementwise(a.text("op"), images[0], {images.begin() + 1, images.end()}, name);
    if (is<ops::Slice>(n))
      return b_.slice(images[0], image_of(a.get<Extents>("begin"), 0), image_of(a.get<Extents>("size")),
                      image_of(a.get<Extents>("step")), name);
    const auto axis = static_cast<size_t>(a.number("axis"));
    return b_.concat(std::move(images), axis == 2 ? 3 : axis, name);
  }

  std::unordered_map<ValueId, ValueId> images_;  ///< by value of the old graph: the same in the new one, of four axes
};

}  // namespace

Graph sequences_as_images(const Graph& g, const PassContext& context) {
  return rewritten_by<SequenceWidener>(g, context);
}

}  // namespace hone
