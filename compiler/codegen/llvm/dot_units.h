// Which instructions a processor sums products of bytes, or of bf16, with. Private to codegen/llvm.
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
};

struct DotUnits {
  DotProduct kind = DotProduct::kNone;
  int bits = 0;       ///< of the widest vector that it takes
  int bf16_bits = 0;  ///< of the widest vector that adds two products of bf16 to each lane; 0: none does
};
DotUnits dot_units(const Target& target);

}  // namespace hone
