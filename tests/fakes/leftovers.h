// Values that memory may hold before a program has written to it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "compiler/runtime/buffer.h"

namespace hone {

/// 16 bits that memory is full of.
struct Leftover {
  const char* name;
  uint16_t bits;
};
inline constexpr Leftover kZeros{"zeros", 0};
inline constexpr Leftover kDenormals{"denormal numbers of every type", 0x0001};
inline constexpr Leftover kLeftovers[] = {kDenormals,
                                          {"signalling NaNs of f32 and bf16, huge numbers of f64", 0x7fa1},
                                          {"signalling NaNs of f16, huge numbers of f32 and bf16", 0x7df7},
                                          {"signalling NaNs of f64", 0x7ff4},
                                          {"huge negative numbers", 0xff7f},
                                          {"all bits set", 0xffff}};

inline void fill_with(const Leftover& what, void* data, int64_t bytes) {
  auto* to = static_cast<uint16_t*>(data);
  std::fill(to, to + bytes / 2, what.bits);
}

/// The part of the calling thread's stack that the next function called lies in, many times what a kernel's frame may
/// take.
[[gnu::noinline]] inline void fill_stack_with(const Leftover& what) {
  volatile uint16_t frame[128 * 1024];
  for (volatile uint16_t& element : frame) element = what.bits;
}

}  // namespace hone
