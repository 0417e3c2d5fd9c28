#include "compiler/check/adversarial.h"

#include <limits>

#include "base/narrow_floats.h"
#include "compiler/check/mix.h"
#include "compiler/ir/denormals.h"

namespace hone {
namespace {

// The value for 64 random bits; `smallest` is the smallest normal number of the type.
double float_for(uint64_t bits, Adversary a, double large, double smallest) {
  // 7 bits, so that f16 and bf16 hold the value as it is.
  const double unit = static_cast<double>(bits >> 57) / 128, sign = bits & 1 ? -1 : 1;
  switch (a) {
    case Adversary::kLarge: return sign * large * (1 + unit);
    case Adversary::kDenormal: return sign * (bits & 2 ? smallest * (unit + 1.0 / 128) : unit);
    case Adversary::kEqual: return 0.75;
    case Adversary::kNegative: return -(unit + 1.0 / 128);
  }
  return 0;
}

template <class T, class F>
void fill_all(void* data, int64_t count, uint64_t seed, const F& value) {
  T* out = static_cast<T*>(data);
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<T>(value(mix(mix(seed) + static_cast<uint64_t>(i) * kGolden)));
}

template <class T>
bool fill_whole(void* data, int64_t count, Adversary a, uint64_t seed) {
  constexpr T kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  if (a == Adversary::kDenormal) return false;
  fill_all<T>(data, count, seed, [&](uint64_t bits) -> T {
    if (a == Adversary::kEqual) return kHigh;
    if (a == Adversary::kLarge) return bits & 1 ? kHigh : kLow;
    return static_cast<T>(kLow + static_cast<T>((bits >> 48) % (uint64_t{1} << (8 * sizeof(T) - 1))));
  });
  return true;
}

}  // namespace

std::string_view name_of(Adversary a) {
  switch (a) {
    case Adversary::kLarge: return "large";
    case Adversary::kDenormal: return "denormal";
    case Adversary::kEqual: return "equal";
    case Adversary::kNegative: return "negative";
  }
  return "";
}

bool fill_adversarial(void* data, DType t, int64_t count, Adversary a, uint64_t seed) {
  if (t == i8) return fill_whole<int8_t>(data, count, a, seed);
  if (t == u8) return fill_whole<uint8_t>(data, count, a, seed);
  if (t == i16) return fill_whole<int16_t>(data, count, a, seed);
  if (t == u16) return fill_whole<uint16_t>(data, count, a, seed);
  if (!t.is_float()) return false;
  const auto value = [&](uint64_t bits) { return float_for(bits, a, t == f16 ? 32 : 0x1p30, smallest_normal(t)); };
  if (t == f64)
    fill_all<double>(data, count, seed, value);
  else if (t == f32)
    fill_all<float>(data, count, seed, value);
  else
    fill_all<uint16_t>(data, count, seed, [&](uint64_t bits) {
      const auto v = static_cast<float>(value(bits));
      return t == f16 ? f16_of_float(v) : bf16_of_float(v);
    });
  return true;
}

}  // namespace hone
