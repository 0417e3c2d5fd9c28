// Products with weights of 4 or 8 bits in blocks along k, each block with a scale.
#pragma once

#include "compiler/ops/definition.h"

namespace hone {

/// C[m,n] = A[m,k] W[n,k] of W[j,i] = (number i of row j - zero point of its block) * scale of its block. A block is
/// `block` neighbouring numbers of a row. Numbers lie in words of 32 bits, the first one in the lowest bits.
struct NbitsShape {
  int64_t m = 0, n = 0, k = 0, bits = 0, block = 0;
  std::optional<int64_t> zero;  ///< of all blocks; nothing where each block has its own
  int64_t blocks() const { return k / block; }
  int64_t per_word() const { return 32 / bits; }
  int64_t words() const { return k / per_word(); }  ///< of a row
};
const NbitsShape& nbits_shape(const Workload& w);

/// a (input) [m,k]; b (constant) u32 [n,words]; scales (constant) f32 [n,blocks]; where each block has a zero point,
/// zeros (constant) u8 [n,blocks]; then the epilogue's inputs.
///
/// Stages: `scaled` [m,k] is A divided by the place value that its number has in half a word, a power of two, so that
/// numbers are multiplied where they lie, behind a mask and without a shift; `sums` [m,blocks] sums A, for the zero
/// points (not there where all are 0); `blocks` [m,n,blocks] sums a block's products; `matmul`, the anchor, adds the
/// blocks up; `out` where there is an epilogue.
Definition dense_nbits(const Workload& w);

/// The same by products of bf16, with A as the sum of `parts` of them: each is the rounding error of those before it.
/// Stages `parts` [part,m',k], filled up with zeros to m' = `rows`; `numbers` [n,k], those of 4 bits 16 more than they
/// are (as below); `blocks` [m',n,blocks] sums over a block and the parts.
Definition dense_nbits_in_parts(const Workload& w, int64_t rows);
/// How many bf16 an element of A is there: as many as it takes to be exact. Elements beyond 1e37, whose products with
/// the 16 overflow, make a NaN of their row, as infinities do in all of these.
int64_t parts_of(const Workload& w);

/// The same for 4 bits by dot products of bf16 (Intrinsic::kDot2). A bf16 has seven bits behind its point, so a 4-bit
/// number between them, under the exponent of 16, is 16 more than itself. A is the sum of two bf16, the second being
/// the rounding error of the first: stage `parts` [2,m,k], in the order in which words have the numbers 0 4 1 5 2 6 3
/// 7. Products have 16 bits of A (factor_error); the 16 goes with the zero point.
Definition dense_nbits_in_pairs(const Workload& w);

}  // namespace hone
