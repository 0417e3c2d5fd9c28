// Nests of tensor loops that the 32 threads of a warp can carry out together on their matrix unit (mma.sync, ldmatrix).
//
// In loop form such a nest is the plain sum that each thread computes for itself. Of a tile of 16 rows and 8 columns of
// C thread t (g = t / 4, q = t % 4) holds rows g and g + 8 of columns 2q and 2q + 1:
//   tensor h in 0..2: tensor c in 0..2: tensor k in 0..K:   C[…, h, c] += A[…, g + 8h, k] * B[…, k, 2q + c]
// which is how mma.sync leaves C in the threads' registers; what the threads of a warp read together is what the unit
// wants from shared memory. So programs with such nests need no rules of their own: they are verified, interpreted, and
// run as they stand where there is no such unit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/gpu/form_threads.h"

namespace hone {

struct TensorNest {
  /// A matrix in shared memory: where the tile begins (its first row or column, k = 0; for the warp, not for one of its
  /// threads), and how far apart in elements neighbouring rows of A (columns of B) and neighbouring k are. One of the
  /// two is 1.
  struct Operand {
    Buffer buffer;
    Expr tile;
    int64_t stride = 1, stride_k = 1;
  };
  std::string unit;   ///< the types as the prelude's functions spell them: `f16`, `bf16`, `tf32`, `s8s8`, `u8s8`
  int least_sm = 75;  ///< compute capability, times ten
  Operand a, b;
  Buffer c;
  Expr c_index;  ///< of h = 0, c = 0, in a thread's own part
  int64_t c_stride_h = 1, c_stride_c = 1;
};

/// The nest that `outermost`, a tensor loop, begins; nothing where a matrix unit cannot carry it out. `threads` are the
/// kernel's axes. Control flow around it must be the same for all threads of a warp, which the caller looks after.
/// `tile` and `c_index` may use variables of loops around it.
std::optional<TensorNest> match_tensor_nest(const For* outermost, const std::vector<GpuAxis>& threads);

/// A tensor loop in which each thread of a group of so many neighbours in a warp combines what all of them wrote to
/// shared memory:
///   tensor j in 0..32:   C[c] = C[c] + S[group's + j]
/// By shuffles each reads the element of its own place and gets the others' from their registers.
struct WarpSum {
  int64_t threads = 32;  ///< a power of two
  BinaryOp op = BinaryOp::kAdd;
  Buffer source, result;
  Expr first, index;  ///< of the group's first element in `source`; of `result`
};

/// The sum that `loop`, a tensor loop, is; nothing where shuffles cannot do it. `threads` are the kernel's axes;
/// control flow as for match_tensor_nest.
std::optional<WarpSum> match_warp_sum(const For* loop, const std::vector<GpuAxis>& threads);

/// `s` with its tensor loops as plain ones: unrolled where what is stored moves with them, so that accumulators stay
/// registers, else serial.
Stmt plain_tensor_loops(const Stmt& s);

/// Whether `e` may differ between threads of one warp: uses one of the last two axes, or memory.
bool differs_in_warp(const Expr& e, const std::vector<GpuAxis>& threads);

}  // namespace hone
