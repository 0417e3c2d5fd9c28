// Transposes' axes. Private to the passes.
#pragma once

#include "compiler/graph/graph.h"
#include "compiler/ir/extents.h"

namespace hone {

inline const Extents& perm_of(const Node& transpose) { return transpose.workload.attributes.get<Extents>("perm"); }

/// Whether elements of `shape` keep their order when its axes are put in this one.
inline bool keeps_order(const Extents& shape, const Extents& order) {
  int64_t last = -1;  // of the axes that have more than one element
  for (const int64_t axis : order) {
    if (shape[static_cast<size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

}  // namespace hone
