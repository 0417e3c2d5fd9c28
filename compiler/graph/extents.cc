#include "compiler/graph/extents.h"

#include <algorithm>

#include "base/check.h"
#include "compiler/ir/layout.h"

namespace hone {
namespace {

// The first `count` elements along the axis.
TensorData first_of(const TensorData& t, size_t axis, int64_t count) {
  TensorType type = t.type();
  const int64_t all = type.shape[axis];
  HONE_ICHECK(count >= 0 && count <= all) << count << " elements along axis " << axis << " of " << to_string(type);
  type.shape[axis] = count;
  const auto at = type.shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const auto row = static_cast<size_t>(element_count({at + 1, type.shape.end()}) * type.dtype.bytes()),
             rows = static_cast<size_t>(element_count({type.shape.begin(), at}));
  std::string bytes;
  for (size_t r = 0; r < rows; ++r)
    bytes.append(t.bytes().data() + r * row * static_cast<size_t>(all), row * static_cast<size_t>(count));
  return {type, std::move(bytes)};
}

}  // namespace

std::vector<TensorData> cut_to_extents(const Graph& g, const std::vector<TensorData>& outputs) {
  std::vector<bool> is_count(outputs.size(), false);
  for (const Port& p : g.outputs)
    if (p.extent) is_count[p.extent->count] = true;
  std::vector<TensorData> out;
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (is_count[o]) continue;
    const auto& extent = g.outputs[o].extent;
    out.push_back(extent ? first_of(outputs[o], extent->axis, outputs[extent->count].numbers().at(0)) : outputs[o]);
  }
  return out;
}

}  // namespace hone
