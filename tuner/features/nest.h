// The data that features are computed from: every store of a Module with its loops, operations and accesses.
#pragma once

#include <array>
#include <vector>

#include "compiler/ir/module.h"

namespace hone::nest {

/// Loops of a nest that are looked at one by one; of a deeper nest the outermost ones only count as repetitions.
inline constexpr int kMaxLoops = 20;

/// An index as an affine function of the loops around it: exact, except that divisions are approximated.
struct Affine {
  std::array<float, kMaxLoops> coefficient{};
  double low = 0, high = 0;  ///< bounds of its value
};

struct Loop {
  const VarNode* var = nullptr;
  double low = 0, high = 0;  ///< of the loop's variable
  double extent = 1;         ///< the largest value, when the extent varies
  LoopKind kind = LoopKind::kSerial;
};

struct Access {
  const BufferNode* buffer = nullptr;
  Affine index;                                ///< flat, in elements
  const ExprNode* at = nullptr;                ///< the same, exactly as in the program; null where it has several parts
  std::array<uint8_t, kMaxLoops> by_stride{};  ///< loops by growing |coefficient|, those with none left out
  int strided = 0;                             ///< how many of them

  double element_bytes() const { return static_cast<double>(buffer->dtype.lane_bytes()); }
};

/// Memory that an access touches.
struct Touch {
  double elements = 1;  ///< distinct
  double lines = 1;     ///< distinct cache lines of 64 bytes
};

/// Operations of one execution, by the type of their result; address arithmetic not included.
struct Operations {
  double float_add = 0, float_mul = 0, float_fma = 0, float_other = 0;  ///< other: division, min, max, calls
  double integer = 0, compare = 0, cast = 0, load = 0, address = 0;
  double flops() const { return float_add + float_mul + 2 * float_fma + float_other; }
  /// Arithmetic of either type.
  double work() const { return flops() + integer; }
};

struct Statement {
  std::array<Loop, kMaxLoops> loops;  ///< outermost first
  int depth = 0;
  double executions = 1;  ///< executions of the store over all loops, guards ignored
  Operations ops;
  std::vector<Access> accesses;  ///< the store first, then the loads in the order of the expression
  double guards = 0;             ///< conditions around it, masks and selects included
  double waste = 1;  ///< iterations of the guarded loops, over those that `affine < constant` guards let through

  /// The memory that access `a` touches while the loops `from`.. run.
  Touch touch(const Access& a, int from) const;
  /// Product of the extents of the loops `from`..
  double iterations(int from) const;
};

struct Nests {
  std::vector<Statement> statements;  ///< of all kernels in order
  double stack_bytes = 0;
  double block_stack_bytes = 0, block_shared_bytes = 0;  ///< threads of a GPU's block, in the launch that has the most
  double thread_nests = 0;         ///< nests of thread loops that a block executes one after the other
  double statements_unrolled = 0;  ///< stores after unrolling
  double parallel_loops = 0, loops = 0;
};

Nests nests_of(const Module& m);

}  // namespace hone::nest
