#include <algorithm>
#include <unordered_map>

#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"

namespace hone {
namespace {

class SequenceWidener {
 public:
  SequenceWidener(const Graph& g, const PassContext& context) : r_(g, context) {}

  Graph run() {
    return r_.run([&](const Node& n) {
      if (is_view_of_image(n)) images_.emplace(n.outputs[0], r_.now(n.inputs[0]));
      return add_image(n);
    });
  }

 private:
  const Extents& shape(ValueId v) const { return r_.shape(v); }
  static bool is_sequence(const Extents& s) { return s.size() == 3; }
  static Extents image_of(const Extents& s) { return {s[0], s[1], 1, s[2]}; }

  bool is_view_of_image(const Node& n) const {
    return is<ops::Reshape>(n) && is_sequence(shape(n.outputs[0])) &&
           shape(n.inputs[0]) == image_of(shape(n.outputs[0]));
  }

  // Whether the node works on sequences, at least one of which is an image of one row.
  bool is_on_images(const Node& n) const {
    return is_sequence(shape(n.outputs[0])) &&
           std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) { return is_sequence(shape(v)); }) &&
           std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) { return images_.contains(v); });
  }

  // Adds the node's operation on images in place of sequences.
  ValueId image_made_by(const Node& n, std::vector<ValueId> images, const std::string& name) {
    const Attributes& a = n.workload.attributes;
    GraphBuilder& b = r_.builder();
    if (is<ops::Concat>(n)) {
      const int64_t axis = a.number("axis");
      return b.concat(std::move(images), static_cast<size_t>(axis == 2 ? 3 : axis), name);
    }
    if (is<ops::Elementwise>(n))
      return b.elementwise(a.text("op"), images[0], {images.begin() + 1, images.end()}, name);
    const auto of_image = [&](const char* attribute, int64_t height) {
      const Extents& s = a.get<Extents>(attribute);
      return Extents{s[0], s[1], height, s[2]};
    };
    return b.slice(images[0], of_image("begin", 0), of_image("size", 1), of_image("step", 1), name);
  }

  bool add_image(const Node& n) {
    if (!is<ops::Elementwise, ops::Concat, ops::Slice>(n) || !is_on_images(n)) return false;
    std::vector<ValueId> inputs;
    for (const ValueId v : n.inputs) {
      const auto image = images_.find(v);
      inputs.push_back(image != images_.end() ? image->second : r_.with_shape(r_.now(v), image_of(shape(v))));
    }
    const ValueId made = image_made_by(n, std::move(inputs), r_.name(n.outputs[0]));
    images_.emplace(n.outputs[0], made);
    r_.stand_in(n.outputs[0], r_.with_shape(made, shape(n.outputs[0])));
    return true;
  }

  Rewriter r_;
  std::unordered_map<ValueId, ValueId> images_;  ///< by value of the old graph: the same in the new one, of four axes
};

}  // namespace

Graph sequences_as_images(const Graph& g, const PassContext& context) { return SequenceWidener(g, context).run(); }

}  // namespace hone
