// The interpreter: runs any program at any stage of scheduling and lowering, slowly and literally. It is the oracle of
// every test.
#pragma once

#include <vector>

#include "compiler/ir/module.h"

namespace hone {

/// Storage of a parameter: `data` points to row-major elements of the buffer's dtype (bool: one byte each), as many as
/// its shape says.
struct InterpArg {
  void* data = nullptr;
  int64_t size = 0;  ///< elements; checked against the buffer's shape
  /// Which elements have been written, as many as `size`; the run adds those that it writes. Null: all have.
  std::vector<bool>* written = nullptr;
};

/// How a program may use an element that nothing has written yet.
enum class Unwritten : uint8_t {
  kMayBeComputedWith,  ///< any use, as long as no output and no decision depends on it: tiles may overcompute
  /// It may only be copied among intermediate buffers. It may hold a denormal number, and arithmetic on one is a
  /// hundred times as slow, so no lane of a vector may compute with it. Masked lanes and both sides of a selection are
  /// checked, too, because code for CPUs computes them.
  kMayBeMoved
};

/// Runs `f`. Floats are computed in their own type (f32 as float, f64 as double, f16 and bf16 as float, rounded after
/// each step), integers wrap in theirs. Loops of every kind run in order; the threads of a loop that holds barriers run
/// from one barrier to the next in turn. UserError for a race: two threads or blocks touch an element, one of them
/// writes it, and no barrier or end of a thread loop stands between; and for a barrier that not every thread meets.
/// UserError for an access out of bounds (names buffer, index, extent), a parameter, condition or index that depends on
/// an element of a workspace or stack buffer that nothing has written yet (arithmetic, as `unwritten` says), or a
/// division by zero. Multi-dimensional and flat accesses are both understood. Lazy: the other side of a Select and
/// masked lanes of a Store have no effect. `shape_args` are the values of f.shape_vars.
void interpret(const Function& f, const std::vector<InterpArg>& args, const std::vector<int64_t>& shape_args = {},
               Unwritten unwritten = Unwritten::kMayBeComputedWith);

/// Runs all kernels of `m` on physical tensors, one per parameter.
void interpret(const Module& m, const std::vector<InterpArg>& args,
               Unwritten unwritten = Unwritten::kMayBeComputedWith);

}  // namespace hone
