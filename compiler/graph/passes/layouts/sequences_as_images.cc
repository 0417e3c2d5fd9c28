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
    if (!is<ops::Reshape, ops::Elementwise, ops::Concat, ops::Slice>(n) || !is_sequence(shape(n.outputs[0])))
      return false;
    if (is<ops::Reshape>(n) && shape(n.inputs[0]) == image_of(shape(n.outputs[0])))
      images_.emplace(n.outputs[0], now(n.inputs[0]));
    if (is<ops::Reshape>(n) ||
        !std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) { return is_sequence(shape(v)); }) ||
        std::none_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) { return images_.contains(v); }))
      return false;
    std::vector<ValueId> inputs;
    for (const ValueId v : n.inputs) {
      const auto image = images_.find(v);
      inputs.push_back(image != images_.end() ? image->second : with_shape(now(v), image_of(shape(v))));
    }
    const ValueId made = image_made_by(n, std::move(inputs), name(n.outputs[0]));
    images_.emplace(n.outputs[0], made);
    return replace(n, made);
  }

 private:
  static bool is_sequence(const Extents& s) { return s.size() == 3; }
  static Extents image_of(const Extents& s) { return {s[0], s[1], 1, s[2]}; }

  // Adds the node's operation on images in place of sequences.
  ValueId image_made_by(const Node& n, std::vector<ValueId> images, const std::string& name) {
    const Attributes& a = n.workload.attributes;
    if (is<ops::Concat>(n)) {
      const int64_t axis = a.number("axis");
      return b_.concat(std::move(images), static_cast<size_t>(axis == 2 ? 3 : axis), name);
    }
    if (is<ops::Elementwise>(n))
      return b_.elementwise(a.text("op"), images[0], {images.begin() + 1, images.end()}, name);
    const auto of_image = [&](const char* attribute, int64_t height) {
      const Extents& s = a.get<Extents>(attribute);
      return Extents{s[0], s[1], height, s[2]};
    };
    return b_.slice(images[0], of_image("begin", 0), of_image("size", 1), of_image("step", 1), name);
  }

  std::unordered_map<ValueId, ValueId> images_;  ///< by value of the old graph: the same in the new one, of four axes
};

}  // namespace

Graph sequences_as_images(const Graph& g, const PassContext& context) {
  return rewritten_by<SequenceWidener>(g, context);
}

}  // namespace hone
