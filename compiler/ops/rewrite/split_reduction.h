// One reduction as several, so that it can run in vectors and in parallel: rfactor for definitions.
#pragma once

#include <string>
#include <vector>

#include "compiler/ops/definition.h"

namespace hone {

struct ReductionSplit {
  Definition definition;
  std::string chunk;                  ///< stage that reduces each chunk; empty when there is one chunk
  std::vector<std::string> partials;  ///< stages with an axis of lanes, in order; empty when there is one lane
};

/// S[i] = sum_k A[i,k], k < K, with c chunks (of the first reduction axis; where they do not divide K, the last ends
/// early) and L lanes (of the last; a power of two):
///   S_chunk[t,i] = sum_k A[i, t*(K/c) + k];   S[i] = sum_t S_chunk[t,i]
/// and with n = K floordiv L, K being the extent that remains, for S or S_chunk:
///   S_main[i,l] = sum_{q<n} A[i, q*L + l]
///   S_tail[i,l] = n*L + l < K ? A[i, n*L + l] : 0
///   S_lanes[i,l] = S_main[i,l] + S_tail[i,l]
///   S_{L/2}[i,l] = S_lanes[i,l] + S_lanes[i, l + L/2];   …;   S[i] = S_2[i,0] + S_2[i,1]
/// or with warps of W > 1 lanes, where each lane gets the whole warp's result:
///   S_warps[i,l] = sum_{j<W} S_lanes[i, l floordiv W * W + j];   S[i] = S_warps[i,0] + S_warps[i,W] + …
/// (stages that would be empty are left out). Sums are reassociated. The definition has exactly one reduction.
ReductionSplit split_reduction(const Definition& d, int64_t chunks, int64_t lanes, int64_t warp = 1);
/// The same of reduction `stage`, which may be one of several.
ReductionSplit split_reduction(const Definition& d, const std::string& stage, int64_t chunks, int64_t lanes,
                               int64_t warp = 1);

/// The one stage of `d` with a reduction; null when there is none. UserError when there are several.
const TensorNode* only_reduction(const Definition& d);

}  // namespace hone
