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
};

/// Runs `f`. Floats are computed in their own type (f32 as float, f64 as double, f16 and bf16 as float, rounded after
/// each step), integers wrap in theirs. Loops of every kind run in order; the threads of a loop that holds barriers run
/// from one barrier to the next in turn. UserError for a race: two threads or blocks touch an element, one of them
/// writes it, and no barrier or end of a thread loop stands between; and for a barrier that not every thread meets.
/// UserError for an access out of bounds (names buffer, index, extent), a parameter, condition or index that depends on
/// an element of a workspace or stack buffer that nothing has written yet, or a division by zero. Multi-dimensional and
/// flat accesses are both understood. Lazy: a Select evaluates only the chosen side; masked lanes of a Store evaluate
/// nothing. `shape_args` are the values of f.shape_vars.
void interpret(const Function& f, const std::vector<InterpArg>& args, const std::vector<int64_t>& shape_args = {});

/// Runs all kernels of `m` on physical tensors, one per parameter.
void interpret(const Module& m, const std::vector<InterpArg>& args);

}  // namespace hone
