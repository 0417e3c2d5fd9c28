// Axes of transposes and of operands. Private to the passes.
#pragma once

#include "compiler/graph/graph.h"
#include "compiler/ir/extents.h"

namespace hone {

inline const Extents& perm_of(const Node& transpose) { return transpose.workload.attributes.get<Extents>("perm"); }

/// The order that puts axes back where they were.
Extents inverse_of(const Extents& perm);

/// Whether elements of `shape` keep their order when its axes are put in this one.
bool keeps_order(const Extents& shape, const Extents& order);

/// Which axis the channels are: of images ([n, c, h, w]) and of rows.
inline size_t channel_axis(const Extents& shape) { return shape.size() == 4 ? 1 : shape.size() - 1; }

/// An operand that is broadcast to a value, where the value is seen under another shape.
struct SeenOperand {
  Extents whole;  ///< its shape; where that is another one than it has, it must be broadcast to this first
  Extents shape;  ///< the same elements under the value's other shape
};
/// An operand of shape `own`, beside a value of shape `value` that is seen as `other`. Axes that hold the same elements
/// in both are a group: in each the operand has all of them, or one for all.
SeenOperand seen_with(const Extents& own, const Extents& value, const Extents& other);

}  // namespace hone
