// The typing rules of the IR, one node at a time: verify() checks them, and decode() accepts nothing else.
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/stmt.h"

namespace hone {

/// Most lanes of a vector.
inline constexpr int kMaxLanes = 1024;

/// Integers of 8, 16, 32 or 64 bits, floats of 16, 32 or 64, bool of 1; 1 to kMaxLanes lanes.
bool is_valid(DType t);

/// The first error in the types of `e` itself, as a message; nothing when they are right. Its operands are taken as
/// checked and must not be null.
std::optional<std::string> type_error(const Expr& e);
/// The same for a statement's own expressions.
std::optional<std::string> type_error(const Stmt& s);
/// The same for a buffer: a scalar element, extents that are scalar indices.
std::optional<std::string> type_error(const BufferNode& b);

}  // namespace hone
