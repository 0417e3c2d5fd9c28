#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rebuild.h"
#include "compiler/ir/extents.h"

namespace hone {
namespace {

class SequenceWidener {
 public:
  SequenceWidener(const Graph& g, const PassContext& context) : g_(g), rebuild_(g, context) {}

  Graph run() {
    return rebuild_.run([&](const Node& n) {
      if (is_view_of_image(n)) images_.emplace(n.outputs[0], rebuild_.now(n.inputs[0]));
      return add_image(n);
    });
  }

 private:
  const Extents& shape(ValueId v) const { return g_.value(v).type.shape; }
  static bool is_sequence(const Extents& s) { return s.size() == 3; }
  static Extents image_of(const Extents& s) { return {s[0], s[1], 1, s[2]}; }
  static std::string widened(const Extents& s, int64_t with, const char* joint) {
    return fmt::format("{}", fmt::join(Extents{s[0], s[1], with, s[2]}, joint));
  }

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

  bool add_image(const Node& n) {
    const std::string_view task = n.workload.task();
    if ((!is<ops::Elementwise, ops::Concat, ops::Slice>(n)) || !is_on_images(n)) return false;
    const Attributes& a = n.workload.attributes;
    AttributeTexts given;
    if (is<ops::Elementwise>(n)) {
      given = {{"op", a.text("op")}};
    } else if (is<ops::Concat>(n)) {
      const int64_t axis = a.number("axis");
      given = {{"axis", std::to_string(axis == 2 ? 3 : axis)}};
    } else {
      given = {{"begin", widened(a.get<Extents>("begin"), 0, ":")},
               {"step", widened(a.get<Extents>("step"), 1, ":")},
               {"size", widened(a.get<Extents>("size"), 1, "x")}};
    }
    std::vector<ValueId> inputs;
    for (const ValueId v : n.inputs) {
      const auto image = images_.find(v);
      inputs.push_back(image != images_.end() ? image->second
                                              : rebuild_.with_shape(rebuild_.now(v), image_of(shape(v))));
    }
    const ValueId made = rebuild_.builder().add_one(task, given, inputs, g_.value(n.outputs[0]).name);
    images_.emplace(n.outputs[0], made);
    rebuild_.stand_in(n.outputs[0], rebuild_.with_shape(made, shape(n.outputs[0])));
    return true;
  }

  const Graph& g_;
  Rebuild rebuild_;
  std::unordered_map<ValueId, ValueId> images_;  ///< by value of the old graph: the same in the new one, of four axes
};

}  // namespace

Graph sequences_as_images(const Graph& g, const PassContext& context) { return SequenceWidener(g, context).run(); }

}  // namespace hone
