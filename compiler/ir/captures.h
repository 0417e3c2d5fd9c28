// The arguments of a loop body that becomes a function of its own.
#pragma once

#include <functional>
#include <vector>

#include "compiler/ir/stmt.h"

namespace hone {

/// The variables and buffers that a loop's body uses but does not define, each once, in the order of their first use.
struct Captures {
  std::vector<const VarNode*> vars;  ///< without the loop's own
  std::vector<const BufferNode*> buffers;
};
/// `original`: the buffer that one stands for; null: each for itself.
Captures captures_of(const For* loop, const std::function<const BufferNode*(const BufferNode*)>& original = {});

}  // namespace hone
