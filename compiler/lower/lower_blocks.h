// Blocks to statements: the tree of a Schedule becomes a Function with multi-dimensional accesses.
#pragma once

#include "compiler/ir/module.h"
#include "compiler/schedule/schedule.h"

namespace hone {

/// How much memory intermediate buffers take, and for how long.
enum class Allocation : uint8_t {
  /// Every intermediate buffer at its full shape, allocated around everything: the program as scheduled, guards and
  /// all.
  kWhole,
  /// Each at the innermost position around its accesses, shrunk to the elements touched there; guards dropped where
  /// overcomputing is safe.
  kCompact,
};

/// for i:                                      for i:
///   block { C[f(i)] += S; initializes }  ->     if (reduce iters == 0) C[f(i)] = 0
///                                               C[f(i)] = C[f(i)] + S
///
/// kCompact drops a guard over spatial loops when the block writes an intermediate buffer, every access is proved in
/// bounds without it, and the surplus elements are proved to lie in places of their own: no result is made of them.
/// Such an element that a reader may compute with is never left unwritten: where a guard remains, it gets 0.
Function lower_blocks(const Schedule& schedule, Allocation allocation);
/// The same for a prepack; its parameters are (logical, packed…).
Function lower_blocks(const PrepackNest& nest, Allocation allocation);

}  // namespace hone
