#include "tests/bench/models/fill.h"

#include <cmath>
#include <cstring>
#include <random>

#include "base/narrow_floats.h"
#include "compiler/graph/tensor_data.h"

namespace hone::bench {
namespace {

Range usual_range(DType t) {
  if (t.is_float()) return {-1, 1};
  if (t.is_bool()) return {0, 1};
  if (t.bits > 8) return {0, 99};
  return t.code == TypeCode::kUInt ? Range{0, 255} : Range{-128, 127};
}

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_element(std::string& out, DType t, double value) {
  if (t == f16) return append(out, f16_of_float(static_cast<float>(value)));
  if (t == bf16) return append(out, bf16_of_float(static_cast<float>(value)));
  if (t == f32) return append(out, static_cast<float>(value));
  if (t == f64) return append(out, value);
  // The lower bytes of a number in two's complement are the narrower number.
  const auto whole = static_cast<int64_t>(value);
  out.append(reinterpret_cast<const char*>(&whole), static_cast<size_t>(t.bytes()));
}

}  // namespace

std::string fill(const TensorType& type, std::optional<Range> range, uint64_t seed) {
  const Range r = range.value_or(usual_range(type.dtype));
  std::mt19937_64 random(seed);
  std::string bytes;
  const int64_t count = bytes_of(type) / type.dtype.bytes();
  bytes.reserve(static_cast<size_t>(bytes_of(type)));
  for (int64_t i = 0; i < count; ++i) {
    const double share = static_cast<double>(random() >> 11) * 0x1p-53;
    const bool whole = !type.dtype.is_float();
    append_element(bytes, type.dtype,
                   whole ? std::floor(r.low + share * (r.high - r.low + 1)) : r.low + share * (r.high - r.low));
  }
  return bytes;
}

}  // namespace hone::bench
