// Bytes -> Module: the door through which foreign programs come in.
#pragma once

#include <string_view>

#include "base/status.h"
#include "compiler/ir/module.h"

namespace hone {

/// The layout of IrModule that encode() writes and decode() reads.
inline constexpr uint32_t kIrVersion = 1;

/// Limits of a decoded module. The "expanded" sizes count a shared node once for each use, as a recursive walk would
/// visit it.
struct DecodeLimits {
  size_t bytes = size_t{2} << 20;
  int vars = 1 << 14, buffers = 1 << 12, exprs = 1 << 16, stmts = 1 << 16, functions = 256, params = 64;
  int rank = 16, layout_dims = 32, name_bytes = 128;
  int expr_depth = 512, stmt_depth = 128;
  int64_t expanded_nodes = 1 << 19;
  int lanes = 1024;
};

/// InvalidArgument, in one line, for bytes that are not a well-formed IrModule within the limits, or that hold unknown
/// fields. Every buffer and every parameter has at least one dimension. The result is safe to walk recursively and
/// consistently typed; verify() decides whether it is a legal program (scopes, bounds, sizes). Never throws.
StatusOr<Module> decode(std::string_view bytes, const DecodeLimits& limits = {});

}  // namespace hone
