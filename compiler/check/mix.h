// Numbers that pass for random: mix() of a counter.
#pragma once

#include <cstdint>

namespace hone {

inline constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

/// splitmix64's finaliser: a bijection of 64 bits that passes for random on multiples of kGolden.
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace hone
