// Products and convolutions as sums of products of bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ops/functions/chain.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/workload.h"

namespace hone {

/// `w`, a convolution or a dense product, of u8 by s8, summed in s32, without its chain. `x` is the shape of what it
/// reads: an image may have more channels than there were (a word of four is filled up), and may bring its border, so
/// that there is no padding. `border`: the byte around an image that does not.
Workload sums_of_bytes(const Workload& w, const std::vector<int64_t>& x, std::optional<int64_t> border);
/// `w`, a batch_matmul, of s8 by u8 or of u8 by s8, in sums of `depth` products.
Workload matmul_of_bytes(const Workload& w, bool is_first_signed, int64_t depth);
/// `w`, a dense product in f32, with weights of s8 that are read as f32, without its chain.
Workload with_weights_of_bytes(const Workload& w);

}  // namespace hone
