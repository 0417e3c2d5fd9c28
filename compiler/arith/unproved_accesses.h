// The safety net between verify() and machine code: checks that the accesses of emitted programs are still proved.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "compiler/arith/bounds.h"
#include "compiler/arith/verify.h"
#include "compiler/ir/stmt.h"

namespace hone {

/// The context of a statement that is about to be emitted.
struct EmissionContext {
  /// Variables that no loop of the statement binds: a GPU's blocks and threads.
  std::vector<std::pair<const VarNode*, Interval>> variables;
  /// Whether accesses to a buffer have run-time checks; none: no buffer's have.
  std::function<bool(const BufferNode*)> is_checked;
};

/// The loads and stores of `s`, vectors and masks included, that are not proved to stay inside their buffers, in the
/// order in which they are found; empty for every program of a template. Works on loop form at any stage; accesses are
/// flat, buffers have constant sizes (others count as unproved). Linear in the size of `s`: of unrolled copies only the
/// outermost are proved.
std::vector<Unproved> unproved_accesses(const Stmt& s, const EmissionContext& context = {});

/// An access that is not proved, in code that has no checks at run time: a GPU's.
struct UnprovedAccess : UserError {
  /// `unproved`: at least one.
  explicit UnprovedAccess(const std::vector<Unproved>& unproved);
};

}  // namespace hone
