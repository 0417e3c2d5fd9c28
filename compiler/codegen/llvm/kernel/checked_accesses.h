// Accesses that get a run-time check, in a form that survives rewriting. Private to codegen/llvm.
#pragma once

#include <utility>
#include <vector>

#include "compiler/ir/stmt.h"

namespace hone {

/// A statement whose checked accesses go through aliases of their buffers: passes rebuild nodes but leave buffers
/// alone.
struct CheckedAccesses {
  Stmt body;
  std::vector<std::pair<Buffer, Buffer>> aliases;  ///< alias, original
  const BufferNode* original(const BufferNode* buffer) const;
};

/// `nodes`: addresses of Loads and Stores in `s`.
CheckedAccesses mark_checked_accesses(const Stmt& s, const std::vector<const void*>& nodes);

/// `checked` legalized, and proved once more: accesses that the passes left without a proof get a check, too.
/// `legalized`: the result of legalize() for `checked.body`.
CheckedAccesses with_late_checks(CheckedAccesses checked, const Stmt& legalized);

}  // namespace hone
