// Warp loops (LoopKind::kWarp): which of them the 32 threads of a warp execute together, on tensor cores (mma.sync,
// ldmatrix) or by shuffles.
//
// In loop form a nest for tensor cores is the plain sum that each thread computes for itself. In a tile of 16 rows and
// 8 columns of C, thread t (g = t / 4, q = t % 4) holds rows g and g + 8 of columns 2q and 2q + 1:
//   tensor h in 0..2: tensor c in 0..2: tensor k in 0..K:   C[…, h, c] += A[…, g + 8h, k] * B[…, k, 2q + c]
// which is how mma.sync leaves C in the threads' registers; ldmatrix loads from shared memory the elements that the
// threads of a warp read together. So no pass needs a rule for such nests: they are verified and interpreted like other
// loops, and run as plain sums on devices without tensor cores.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/gpu/form_threads.h"

namespace hone {

struct TensorNest {
  /// A matrix in shared memory: `tile` is where the warp's tile begins (its first row or column, at k = 0); `stride`
  /// and `stride_k` are how far apart, in elements, neighbouring rows of A (columns of B) and neighbouring k are. One
  /// of the two is 1.
  struct Operand {
    Buffer buffer;
    Expr tile;
    int64_t stride = 1, stride_k = 1;
  };
  std::string types;  ///< of A and B, as the prelude spells them: `f16`, `bf16`, `tf32`, `s8s8`, `u8s8`
  int least_sm = 75;  ///< least compute capability, times ten
  Operand a, b;
  Buffer c;
  Expr c_index;  ///< at h = 0, c = 0, among the thread's own elements
  int64_t c_stride_h = 1, c_stride_c = 1;
};

/// The nest that begins with `outermost`, a warp loop; nothing where tensor cores cannot execute it. `threads` are the
/// kernel's axes. The caller makes sure that all threads of a warp take the same control flow around it. `tile` and
/// `c_index` may use variables of loops around the nest.
std::optional<TensorNest> match_tensor_nest(const For* outermost, const std::vector<GpuAxis>& threads);

/// A warp loop in which each thread of a group of neighbours in a warp combines what all threads of the group wrote to
/// shared memory:
///   tensor j in 0..32:   C[c] = C[c] + S[group's + j]
/// By shuffles each thread reads only its own element from shared memory and gets the others' from their registers.
struct WarpSum {
  int64_t threads = 32;  ///< size of the group, a power of two
  BinaryOp op = BinaryOp::kAdd;
  Buffer source, result;
  Expr first, index;  ///< of the group's first element in `source`; of `result`
};

/// The sum that `loop`, a warp loop, computes; nothing where shuffles cannot do it. `threads` are the kernel's axes;
/// control flow as for match_tensor_nest.
std::optional<WarpSum> match_warp_sum(const For* loop, const std::vector<GpuAxis>& threads);

/// `s` with its warp loops as plain ones: unrolled where the stored element moves with them, so that accumulators stay
/// in registers, else serial.
Stmt plain_warp_loops(const Stmt& s);

/// Whether `e` may differ between the threads of a warp: it uses one of the two innermost axes, or memory.
bool differs_in_warp(const Expr& e, const std::vector<GpuAxis>& threads);

}  // namespace hone
