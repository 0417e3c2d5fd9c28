// The values of a candidate's inputs: the same for every candidate of a workload, on every machine.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "compiler/ir/dtype.h"

namespace hone {

/// Fills `count` elements of type `t` at `data`, determined by (seed, param, element): floats uniform in [-1, 1) (f16
/// bf16: multiples of 2^-7), s8 u8 s16 u16 over their full range, s32 s64 in [-128, 127], u32 u64 in [0, 255], bool 0
/// or 1. Never all zeros. Unimplemented for other types.
Status fill_input(void* data, DType t, int64_t count, uint64_t seed, uint32_t param);

}  // namespace hone
