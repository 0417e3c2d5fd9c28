// Which instructions a processor sums products of bytes, or of bf16, with.
#pragma once

#include <cstdint>

#include "compiler/target/target.h"

namespace hone {

/// How the four products of a u8 and an s8 are added to a lane of s32.
enum class DotProduct : uint8_t {
  kNone,   ///< one after the other, in lanes of 32 bits
  kVnni,   ///< vpdpbusd: all four
  kPairs,  ///< vpmaddwd: two at a time, of bytes widened to 16 bits. No sum saturates, as vpmaddubsw's do.
  kUsdot,  ///< usdot: all four
  kSdot,   ///< sdot: all four, both signed
  kDp4a,   ///< dp4a of NVIDIA's GPUs: all four, lane by lane
};

struct DotUnits {
  DotProduct kind = DotProduct::kNone;
  int bits = 0;       ///< of the widest vector that it takes
  int bf16_bits = 0;  ///< of the widest vector that adds two products of bf16 to each lane; 0: none does
};
DotUnits dot_units(const Target& target);

/// How many products of bytes (u8 by s8) the target's processor adds to a lane in the time of a multiply-add of f32: 4
/// by a dot product of its own, else 1.
int bytes_summed_at_once(const Target& target);

}  // namespace hone
