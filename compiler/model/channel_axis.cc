#include "compiler/model/channel_axis.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "compiler/ir/extents.h"

namespace hone {
namespace {

/// By axis of a value: the axis of the input that it is.
using Axes = std::vector<std::optional<size_t>>;

constexpr size_t kChannels = 1;  // of a convolution's input

Axes permuted(const Axes& axes, const Extents& permutation) {
  Axes out;
  for (const int64_t from : permutation) out.push_back(axes[static_cast<size_t>(from)]);
  return out;
}

// Where only axes of one element come and go, the others are the same ones in order; which of those stays is not known.
Axes reshaped(const Axes& axes, const Extents& from, const Extents& to) {
  const auto is_long = [](int64_t extent) { return extent != 1; };
  Extents before, after;
  std::copy_if(from.begin(), from.end(), std::back_inserter(before), is_long);
  std::copy_if(to.begin(), to.end(), std::back_inserter(after), is_long);
  Axes out(to.size());
  if (before != after) return out;
  for (size_t i = 0, d = 0; i < to.size(); ++i) {
    if (!is_long(to[i])) continue;
    while (!is_long(from[d])) ++d;
    out[i] = axes[d++];
  }
  return out;
}

// The input's axes as they are in the node's output; empty when the node does not keep them.
Axes axes_behind(const Graph& g, const Node& n, size_t operand, const Axes& axes) {
  const Extents &from = g.value(n.inputs[operand]).type.shape, &to = g.value(n.outputs[0]).type.shape;
  if (is<ops::Elementwise>(n)) return from == to ? axes : Axes();
  if (operand != 0) return {};
  if (is<ops::Transpose>(n)) return permuted(axes, n.workload.attributes.get<Extents>("perm"));
  if (is<ops::Reshape>(n)) return reshaped(axes, from, to);
  const bool keeps_axes = is<ops::Pad, ops::Slice, ops::Resize, ops::MaxPool2d, ops::AvgPool2d>(n);
  return keeps_axes && from.size() == to.size() ? axes : Axes();
}

}  // namespace

std::optional<size_t> channel_axis(const Graph& g, ValueId input) {
  std::map<ValueId, Axes> reached;
  Axes& own = reached[input];
  for (size_t axis = 0; axis < g.value(input).type.shape.size(); ++axis) own.emplace_back(axis);
  for (const Node& n : g.nodes)
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const auto found = reached.find(n.inputs[i]);
      if (found == reached.end()) continue;
      const bool is_convolution = is<ops::Conv2d, ops::DepthwiseConv2d>(n);
      if (is_convolution && i == 0 && found->second.size() > kChannels) return found->second[kChannels];
      if (Axes axes = axes_behind(g, n, i, found->second); !axes.empty())
        reached.emplace(n.outputs[0], std::move(axes));
    }
  return std::nullopt;
}

}  // namespace hone
