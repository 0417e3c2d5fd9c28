#include "compiler/frontend/lowering/operators/resample.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/layout.h"

namespace hone::frontend {
namespace {

// Where new element `i` lies among the old ones (ONNX, Resize: coordinate_transformation_mode). As runtimes do, corners
// are those of the whole number of elements; the symmetric mode alone knows of the rest that rounding cuts off.
double position_of(const Resampling& r, int64_t i) {
  const auto x = static_cast<double>(i), in = static_cast<double>(r.in), out = static_cast<double>(r.out);
  const std::string& mode = r.coordinates;
  if (mode == "asymmetric") return x / r.scale;
  if (mode == "align_corners") return r.out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (mode == "pytorch_half_pixel" && r.out == 1) return -0.5;
  if (mode == "tf_crop_and_resize") {
    const double part = r.out == 1 ? 0.5 * (r.begin + r.end) : r.begin + x * (r.end - r.begin) / (out - 1);
    return part * (in - 1);
  }
  const double half_pixel = (x + 0.5) / r.scale - 0.5;
  if (mode == "half_pixel" || mode == "pytorch_half_pixel") return half_pixel;
  HONE_USER_CHECK(mode == "half_pixel_symmetric") << "coordinate_transformation_mode=" << mode;
  return in / 2 * (1 - out / (r.scale * in)) + half_pixel;
}

double rounded(const std::string& how, double position) {
  if (how == "round_prefer_floor") return std::ceil(position - 0.5);
  if (how == "round_prefer_ceil") return std::floor(position + 0.5);
  if (how == "floor") return std::floor(position);
  HONE_USER_CHECK(how == "ceil") << "nearest_mode=" << how;
  return std::ceil(position);
}

// A triangle, or Keys's cubic convolution with the coefficient `a`.
double filter(bool is_cubic, double a, double distance) {
  const double d = std::abs(distance);
  if (!is_cubic) return std::max(0.0, 1 - d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

Taps taps_around(const Resampling& r, double position) {
  const bool is_cubic = r.mode == "cubic";
  const double narrowed = r.is_antialiased ? std::min(r.scale, 1.0) : 1, reach = (is_cubic ? 2 : 1) / narrowed;
  const auto begin = static_cast<int64_t>(std::floor(position - reach)) + 1,
             end = static_cast<int64_t>(std::ceil(position + reach));
  constexpr int64_t kMostTaps = 1 << 16;
  HONE_USER_CHECK(end - begin <= kMostTaps) << "a scale of " << r.scale;
  const int64_t first = std::clamp<int64_t>(begin, 0, r.in - 1), last = std::clamp<int64_t>(end - 1, 0, r.in - 1);
  Taps taps{first, std::vector<double>(static_cast<size_t>(last - first + 1), 0.0)};
  double sum = 0;
  for (int64_t i = begin; i < end; ++i) {
    if (r.excludes_outside && (i < 0 || i >= r.in)) continue;
    const double weight = filter(is_cubic, r.cubic, (static_cast<double>(i) - position) * narrowed);
    taps.weights[static_cast<size_t>(std::clamp<int64_t>(i, first, last) - first)] += weight;
    sum += weight;
  }
  HONE_USER_CHECK(sum != 0) << "with exclude_outside=1 an element has no weights";
  for (double& w : taps.weights) w /= sum;
  // Without weight an infinite element would still make NaNs.
  while (taps.weights.size() > 1 && taps.weights.back() == 0) taps.weights.pop_back();
  while (taps.weights.size() > 1 && taps.weights.front() == 0) {
    taps.weights.erase(taps.weights.begin());
    ++taps.first;
  }
  return taps;
}

}  // namespace

std::vector<Taps> taps_of(const Resampling& how) {
  std::vector<Taps> out;
  for (int64_t i = 0; i < how.out; ++i) {
    const double position = position_of(how, i);
    const auto last = static_cast<double>(how.in - 1);
    if (how.mode == "nearest")
      out.push_back({static_cast<int64_t>(std::clamp(rounded(how.rounding, position), 0.0, last)), {1}});
    else
      out.push_back(taps_around(how, std::clamp(position, -2 * last - 4, 3 * last + 4)));
    out.back().is_outside = how.coordinates == "tf_crop_and_resize" && (position < 0 || position > last);
  }
  return out;
}

Operand resampled(Lowering& l, const Operand& x, size_t axis, const std::vector<Taps>& taps) {
  size_t most = 0;
  for (const Taps& t : taps) most = std::max(most, t.weights.size());
  const int64_t in = x.type.shape[axis];
  const auto out = static_cast<int64_t>(taps.size());
  const auto numbers = [&](const std::vector<double>& values, const Extents& shape) {
    return l.cast(
        l.constant(TensorData({f64, shape}, {reinterpret_cast<const char*>(values.data()), 8 * values.size()})),
        x.type.dtype);
  };
  // A gather for each tap, or a product with all weights where there are many.
  constexpr size_t kMostGathers = 12;
  if (most > kMostGathers) {
    HONE_USER_CHECK(l.may_make(element_count({8, in, out}))) << "weights of " << in << " x " << out;
    std::vector<double> weights(static_cast<size_t>(in * out), 0.0);
    for (int64_t o = 0; o < out; ++o) {
      const Taps& t = taps[static_cast<size_t>(o)];
      for (size_t i = 0; i < t.weights.size(); ++i)
        weights[static_cast<size_t>((t.first + static_cast<int64_t>(i)) * out + o)] = t.weights[i];
    }
    Extents last_of_all;
    for (size_t d = 0; d < x.rank(); ++d) last_of_all.push_back(static_cast<int64_t>(d));
    std::swap(last_of_all[axis], last_of_all.back());
    return l.transpose(l.matmul(l.transpose(x, last_of_all), numbers(weights, {in, out})), last_of_all);
  }
  Extents shape = x.type.shape, along(x.rank(), 1);
  shape[axis] = along[axis] = out;
  Operand sum;
  for (size_t i = 0; i < most; ++i) {
    std::vector<int64_t> positions;
    std::vector<double> weights;
    // Where there are fewer, the last one is taken in parts.
    for (const Taps& t : taps) {
      const size_t last = t.weights.size() - 1;
      positions.push_back(t.first + static_cast<int64_t>(std::min(i, last)));
      weights.push_back(i < last ? t.weights[i] : t.weights[last] / static_cast<double>(most - last));
    }
    const Operand part =
        l.add("gather", {{"axis", std::to_string(axis)}}, {l.value(x), l.value(l.numbers(positions))}, shape);
    if (most == 1 && std::all_of(weights.begin(), weights.end(), [](double w) { return w == 1; })) return part;
    const Operand weighted = l.pointwise("mul", {part, numbers(weights, along)});
    sum = i ? l.pointwise("add", {sum, weighted}) : weighted;
  }
  return sum;
}

}  // namespace hone::frontend
