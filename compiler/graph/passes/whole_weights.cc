#include "compiler/graph/passes/whole_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "base/check.h"

namespace hone {
namespace {

constexpr int64_t kMostFactor = 128;

// The scale of which all these are multiples by -128 to 127.
std::optional<double> scale_of(std::span<const float> values) {
  double most = 0;
  for (const float v : values) {
    if (!std::isfinite(v)) return std::nullopt;
    most = std::max(most, std::abs(static_cast<double>(v)));
  }
  if (most == 0) return 1;
  // Of a step that was rounded to f32, times a number, rounded again; zeros are zeros: many that nearly are add up.
  constexpr double kNear = 1e-6;
  for (int64_t steps = 1; steps <= kMostFactor; ++steps) {
    const double scale = most / static_cast<double>(steps);
    double products = 0, squares = 0;
    bool all = std::isnormal(static_cast<float>(scale));
    for (size_t i = 0; i < values.size() && all; ++i) {
      const double exact = static_cast<double>(values[i]) / scale, whole = std::round(exact);
      all = std::abs(exact - whole) <= kNear * std::abs(whole) && whole >= -kMostFactor && whole < kMostFactor;
      products += static_cast<double>(values[i]) * whole, squares += whole * whole;
    }
    if (all) return products / squares;
  }
  return std::nullopt;
}

// The elements of one channel, copied: they may lie anywhere.
template <class T>
std::vector<T> channel_of(const TensorData& data, size_t channel, size_t each) {
  std::vector<T> out(each);
  std::memcpy(out.data(), data.bytes().data() + channel * each * sizeof(T), each * sizeof(T));
  return out;
}

}  // namespace

std::optional<WholeWeights> whole_weights(const TensorData& data) {
  const DType t = data.type().dtype;
  HONE_ICHECK(t == f32 || t == i16) << to_string(t);
  const auto channels = static_cast<size_t>(data.type().shape[0]);
  const size_t each = static_cast<size_t>(data.elements()) / channels;
  WholeWeights out;
  for (size_t c = 0; c < channels; ++c) {
    if (t == i16) {
      out.scales.push_back(1);
      for (const int16_t v : channel_of<int16_t>(data, c, each)) {
        if (v < -kMostFactor || v >= kMostFactor) return std::nullopt;
        out.numbers.push_back(static_cast<int8_t>(v));
      }
      continue;
    }
    const std::vector<float> own = channel_of<float>(data, c, each);
    const auto scale = scale_of(own);
    if (!scale) return std::nullopt;
    out.scales.push_back(*scale);
    for (const float v : own) out.numbers.push_back(static_cast<int8_t>(std::lround(static_cast<double>(v) / *scale)));
  }
  return out;
}

}  // namespace hone
