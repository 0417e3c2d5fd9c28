// Instructions that the innermost loops of a stage can be matched with: each a pattern and an implementation.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compiler/ir/stmt.h"
#include "compiler/target/target.h"

namespace hone {

/// A loop of a pattern, outermost first. It fits a loop whose extent is a multiple of `multiple` and at most `most`.
struct PatternAxis {
  Var var;
  bool reduce;
  int64_t multiple, most;
  LoopKind becomes;  ///< the loop's kind afterwards; unused for an axis that the intrinsic consumes
};

/// A tensor of a pattern: its last `contiguous` dimensions must be indexed exactly as in the pattern; the dimensions in
/// front are free.
struct PatternTensor {
  Buffer buffer;
  int contiguous;
};

/// out[…] += value, where `value` reads the tensors. Matching binds each read of the pattern to a read of the stage.
struct TensorIntrinsic {
  std::string_view name;
  std::vector<PatternAxis> axes;
  PatternTensor out;
  std::vector<Expr> out_indices;  ///< over the axes
  std::vector<PatternTensor> tensors;
  Expr value;  ///< over the axes; products match in either order
  /// The innermost axis when the intrinsic consumes it: one call does `multiple` of its steps. -1: none.
  int consumed = -1;
  /// The value afterwards. With a consumed axis reads[t][n] is read n (in the order of `tensors`) at its t-th step.
  Expr (*implement)(const std::vector<std::vector<Expr>>& reads);
  bool fused_step = false;  ///< Block::fused_step afterwards
  /// Extents of the thread loops that must stand directly around, outermost first: those of a warp.
  std::vector<int64_t> warp;
  /// The feature that the target needs; none: every target can carry it out, though not always by one instruction.
  std::optional<Feature> needs;

  /// Whether it leaves its loops, as warp loops, for a later match: they read and write memory as it is.
  bool is_nest() const { return axes.front().becomes == LoopKind::kWarp; }
  bool is_on(const Target& target) const { return !needs || target.has(*needs); }
};

/// The table of intrinsics.
///
/// fma_f32: for i <= 32, for j a multiple of 4 up to 64: C[i, j] += A[i] * B[j]. Rows unrolled, columns in vectors of
/// fused multiply-adds, also where contraction is off. For processors that have them: on others each is a call of the C
/// library.
///
/// dot_u8s8_s32: for j a multiple of 4 up to 64, for k in 0..4: C[j] += s32(A[k]) * s32(B[j, k]) of u8 A and s8 B.
/// Columns in vectors of dot4: the processor's dot product where it has one, else narrower products. A read of A may be
/// padded: select(inside, load, constant). Columns may end in a tail.
///
/// dot_each_u8s8_s32: C[j] += s32(A[k, j]) * s32(B[j, k]), else the same: each column has bytes of its own.
///
/// dot_bf16_f32: for j a multiple of 4 up to 64, for k in 0..2: C[j] += f32(A[k]) * f32(B[j, k]) of bf16. Columns in
/// vectors of dot2, else as dot_u8s8_s32.
///
/// mma_f16, mma_bf16, mma_tf32, mma_s8s8, mma_u8s8: for h in 0..2, for c in 0..2, for k in 0..32/bytes: C[h, c] += A[h,
/// k] * B[c, k] in each of the 8 x 4 threads of a warp (the two thread loops closest around), h 8 rows apart and c
/// neighbouring columns: the elements of C that tensor cores leave in a thread.
///
/// tile_bf16, tile_f16, tile_u8s8, tile_s8u8, tile_s8s8, tile_u8u8 (target/matrix_units.h): for i in 0..16, for j in
/// 0..16, for k in 0..16, for w in 0..4/bytes: C[i, j] += A[i, k, w] * B[k, j, w], of CPUs. Where words of k and w are
/// neighbours in A's rows, and words of j and w in B's, registers of tiles execute it.
///
/// mmla_bf16, mmla_u8s8, mmla_s8u8, mmla_s8s8, mmla_u8u8 (target/matrix_units.h): for i in 0..2, for j in 0..2, for w
/// in 0..8/bytes: C[i, j] += A[i, w] * B[j, w], of CPUs. Where w steps through neighbours in A's and B's rows, and j in
/// C's, a vector register of 2 x 2 sums executes it.
const std::vector<TensorIntrinsic>& tensor_intrinsics();

/// The intrinsic of that name. UserError when there is none, which lists them.
const TensorIntrinsic& find_intrinsic(std::string_view name);

}  // namespace hone
