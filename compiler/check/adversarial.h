// Inputs for faults that random numbers of an ordinary size do not find: sums that overflow or cancel, lost values,
// branches that only one sign takes.
#pragma once

#include <cstdint>
#include <string_view>

#include "compiler/ir/dtype.h"

namespace hone {

enum class Adversary : uint8_t {
  kLarge,     ///< floats of 2^30 to 2^31 (f16: 32 to 64) and whole numbers at the ends of their range, of both signs
  kDenormal,  ///< floats; every other one, by chance, is denormal, the others are ordinary
  kEqual,     ///< all elements 3/4, or the largest whole number
  kNegative,  ///< ordinary floats below zero; whole numbers of the lower half
};
inline constexpr Adversary kAdversaries[] = {Adversary::kLarge, Adversary::kDenormal, Adversary::kEqual,
                                             Adversary::kNegative};
std::string_view name_of(Adversary a);

/// Fills `count` elements of type `t` at `data`, determined by (a, t, seed, element). False, and nothing is written,
/// where the type does not take part: bools and whole numbers of 32 bits and more (conditions, indices, sizes), and
/// kDenormal of whole numbers.
bool fill_adversarial(void* data, DType t, int64_t count, Adversary a, uint64_t seed);

}  // namespace hone
