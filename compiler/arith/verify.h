// The verifier: types, scopes, nesting, sizes and bounds of a function or Module. Sound, not complete.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/module.h"

namespace hone {

/// An access that the verifier could not prove in bounds. It is compiled with a run-time check (Module form) or is an
/// error in tests.
struct Unproved {
  std::string access;  ///< printed access
  const void* node;    ///< the Load or Store
};

struct VerifyOptions {
  int64_t max_stack_bytes = 1 << 18;  ///< all stack buffers of a function together
  /// All shared buffers of a function together: more than any GPU's block has.
  int64_t max_shared_bytes = 1 << 18;
  /// Stores after unrolling and vectorizing; four times as many loops and branches.
  int64_t max_unrolled_statements = 1 << 16;
  int64_t max_unrolled_nodes = 1 << 23;  ///< nodes of their expressions
  int64_t max_workspace_bytes = int64_t{8} << 30;
};

/// Throws UserError (one line: what and where) when `m` is malformed: wrong types, a variable out of its scope, a
/// buffer used outside its Allocate, nested parallel loops, parallel and GPU loops in one nest, a block loop inside a
/// thread loop, a shared buffer inside one, a workspace buffer inside either, a barrier, a vector loop around another
/// loop, a non-constant extent of a vector or unrolled loop, a stack buffer of non-constant or too large size, an
/// offset outside the workspace, a store to an input, parameters that do not match, a layout that does not split its
/// shape. Returns the accesses it could not prove in bounds; provably wrong ones are an error.
std::vector<Unproved> verify(const Module& m, const VerifyOptions& options = {});
std::vector<Unproved> verify(const Function& f, const VerifyOptions& options = {});

}  // namespace hone
