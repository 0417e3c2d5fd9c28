// Floats of 16 bits as the rest of the program sees them: conversions between their bits and float, the same on every
// machine.
#pragma once

#include <bit>
#include <cstdint>

namespace hone {

/// The value of IEEE binary16 bits; exact.
constexpr float float_of_f16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, exponent = (bits >> 10) & 0x1fu,
                 mantissa = bits & 0x3ffu;
  if (exponent == 0) {  // zero and numbers smaller than 2^-14
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent == 0x1fu ? 0xffu : exponent + 112) << 23 | mantissa << 13);
}

/// The nearest binary16, the even one of two; beyond the largest: infinity. A NaN stays one.
constexpr uint16_t f16_of_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu));
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 2^16 and more
  if (magnitude < 0x33000000u) return sign;                                    // less than half of 2^-24
  // `shift` bits of the mantissa go: 13, and one more for each power of two below 2^-14.
  const uint32_t exponent = magnitude >> 23, shift = exponent < 113 ? 126 - exponent : 13;
  const uint32_t mantissa = exponent < 113 ? (magnitude & 0x7fffffu) | 0x800000u : magnitude - (112u << 23);
  const uint32_t kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
  // A carry goes into the exponent, up to infinity.
  return static_cast<uint16_t>(sign | (kept + (rest > half || (rest == half && (kept & 1u)) ? 1 : 0)));
}

/// bfloat16: the upper half of a float.
constexpr float float_of_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

/// The nearest bfloat16, the even one of two. A NaN stays one.
constexpr uint16_t bf16_of_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace hone
