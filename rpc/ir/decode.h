// Bytes -> Module: the door through which foreign programs come in.
#pragma once

#include <string_view>

#include "base/status.h"
#include "compiler/ir/module.h"

namespace hone {

/// The layout of IrModule that encode() writes and decode() reads.
inline constexpr uint32_t kIrVersion = 1;

/// Caps on what comes in. The sizes "expanded" count a shared node once for each use: what a recursive walk would
/// visit.
struct DecodeLimits {
  size_t bytes = size_t{2} << 20;
  int vars = 1 << 14, buffers = 1 << 12, exprs = 1 << 16, stmts = 1 << 16, functions = 256, params = 64;
  int rank = 16, layout_dims = 32, name_bytes = 128;
  int expr_depth = 512, stmt_depth = 128;
  int64_t expanded_nodes = 1 << 19;
  int lanes = 1024;
};

/// InvalidArgument, in one line, for bytes that are not a well-formed IrModule within the limits, or that hold fields
/// which no IrModule has. Every buffer and every parameter has a dimension at least. What it returns is safe to walk
/// recursively and consistently typed; whether it is a legal program (scopes, bounds, sizes) is for verify() to say.
/// Never throws.
StatusOr<Module> decode(std::string_view bytes, const DecodeLimits& limits = {});

}  // namespace hone
