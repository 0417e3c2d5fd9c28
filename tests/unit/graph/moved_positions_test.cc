// Images read between their elements: grids over volumes, windows whose elements are moved, and regions with as many
// samples as they are large, against plain loops.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "tests/unit/graph/node_tests.h"

namespace hone {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

Floats drawn(int64_t count, float least, float most, int seed) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::uniform_real_distribution<float> between(least, most);
  Floats out(static_cast<size_t>(count));
  for (float& v : out) v = between(random);
  return out;
}

// A plane or a volume of one channel.
struct Image {
  Extents extents;
  const float* elements;

  double at(const Extents& places) const {
    int64_t e = 0;
    for (size_t d = 0; d < extents.size(); ++d) e = e * extents[d] + places[d];
    return elements[e];
  }
  // Between elements; `get` answers for whole places, also beyond the image.
  template <class Get>
  double between(const std::vector<double>& places, const Get& get) const {
    double sum = 0;
    for (size_t corner = 0; corner < size_t{1} << places.size(); ++corner) {
      double weight = 1;
      Extents at;
      for (size_t d = 0; d < places.size(); ++d) {
        const double low = std::floor(places[d]);
        const bool is_high = corner >> d & 1;
        weight *= is_high ? places[d] - low : 1 - (places[d] - low);
        at.push_back(static_cast<int64_t>(low) + (is_high ? 1 : 0));
      }
      sum += weight * get(at);
    }
    return sum;
  }
  double or_zero(const Extents& places) const {
    for (size_t d = 0; d < extents.size(); ++d)
      if (places[d] < 0 || places[d] >= extents[d]) return 0;
    return at(places);
  }
};

double reflected(double v, double low, double high) {
  if (low == high) return low;
  while (v < low || v > high) v = v < low ? 2 * low - v : 2 * high - v;
  return v;
}

TEST(GridSample, ReadsVolumes) {
  const ModelFolder f;
  const Extents space{3, 4, 5}, places{2, 3, 2};
  const Floats x = drawn(2 * 2 * 60, -2, 2, 1), grid = drawn(2 * 12 * 3, -1.4F, 1.4F, 2);
  for (const std::string mode : {"linear", "nearest"})
    for (const std::string padding : {"zeros", "border", "reflection"})
      for (const bool is_aligned : {false, true}) {
        SCOPED_TRACE(mode + " " + padding + (is_aligned ? " aligned" : ""));
        TestModel m(20);
        m.input("x", {2, 2, 3, 4, 5}).input("grid", {2, 2, 3, 2, 3});
        m.node("GridSample", {"x", "grid"}, {"y"}).text("mode", mode).text("padding_mode", padding);
        m.number("align_corners", is_aligned).output("y");
        std::vector<double> wanted;
        for (int64_t n = 0; n < 2; ++n)
          for (int64_t c = 0; c < 2; ++c)
            for (int64_t p = 0; p < 12; ++p) {
              const Image image{space, x.data() + (n * 2 + c) * 60};
              std::vector<double> at;
              for (size_t d = 0; d < 3; ++d) {
                const auto extent = static_cast<double>(space[d]);
                const double g = grid[static_cast<size_t>((n * 12 + p) * 3) + 2 - d];
                const double v = is_aligned ? (g + 1) / 2 * (extent - 1) : ((g + 1) * extent - 1) / 2;
                const double low = is_aligned ? 0 : -0.5, high = is_aligned ? extent - 1 : extent - 0.5;
                at.push_back(padding == "border"       ? std::clamp(v, 0.0, extent - 1)
                             : padding == "reflection" ? std::clamp(reflected(v, low, high), 0.0, extent - 1)
                                                       : v);
              }
              const auto get = [&](Extents e) {
                for (size_t d = 0; d < 3 && padding != "zeros"; ++d) e[d] = std::clamp<int64_t>(e[d], 0, space[d] - 1);
                return image.or_zero(e);
              };
              Extents nearest;
              for (const double v : at) nearest.push_back(static_cast<int64_t>(std::nearbyint(v)));
              wanted.push_back(mode == "nearest" ? get(nearest) : image.between(at, get));
            }
        EXPECT_THAT(outputs_of(f.import(m), {tensor({2, 2, 3, 4, 5}, x), tensor({2, 2, 3, 2, 3}, grid)}),
                    Pointwise(DoubleNear(1e-4), wanted));
      }
  TestModel cubic(20);
  cubic.input("x", {1, 1, 3, 4, 5}).input("grid", {1, 2, 3, 2, 3});
  cubic.node("GridSample", {"x", "grid"}, {"y"}).text("mode", "cubic").output("y");
  EXPECT_THAT(f.refusal(cubic), HasSubstr("mode=bicubic of 3 axes of space"));
}

TEST(DeformConv, ReadsWhereOffsetsMoveTheWindow) {
  const ModelFolder f;
  for (const bool has_mask : {false, true})
    for (const int64_t groups : {1, 2})
      for (const int64_t offset_groups : {1, 2}) {
        SCOPED_TRACE(fmt::format("{} groups, {} of offsets", groups, offset_groups));
        const int64_t channels = 4, outputs = 6, kh = 3, kw = 2, taps = kh * kw, height = 4, width = 3;
        const Extents image{6, 5}, pads{1, 0, 2, 2}, strides{2, 2}, dilations{1, 2};
        const Floats x = drawn(2 * channels * 30, -1, 1, 1), w = drawn(outputs * channels / groups * taps, -1, 1, 2),
                     offsets = drawn(2 * offset_groups * 2 * taps * height * width, -3, 3, 3),
                     bias = drawn(outputs, -1, 1, 4), mask = drawn(2 * offset_groups * taps * height * width, 0, 1, 5);
        TestModel m(19);
        m.input("x", {2, channels, 6, 5}).input("o", {2, offset_groups * 2 * taps, height, width});
        if (has_mask) m.input("m", {2, offset_groups * taps, height, width});
        m.floats("w", {outputs, channels / groups, kh, kw}, w).floats("b", {outputs}, bias);
        m.node(
            "DeformConv",
            has_mask ? std::vector<std::string>{"x", "w", "o", "b", "m"} : std::vector<std::string>{"x", "w", "o", "b"},
            {"y"});
        m.ints("pads", pads).ints("strides", strides).ints("dilations", dilations).number("group", groups);
        m.number("offset_group", offset_groups).output("y");
        std::vector<double> wanted;
        for (int64_t n = 0; n < 2; ++n)
          for (int64_t k = 0; k < outputs; ++k)
            for (int64_t r = 0; r < height; ++r)
              for (int64_t c = 0; c < width; ++c) {
                double sum = bias[static_cast<size_t>(k)];
                for (int64_t i = 0; i < channels / groups; ++i)
                  for (int64_t tap = 0; tap < taps; ++tap) {
                    const int64_t channel = k / (outputs / groups) * (channels / groups) + i;
                    const int64_t g = channel / (channels / offset_groups);
                    const auto moved = [&](int64_t which) {
                      const int64_t line = (n * offset_groups + g) * 2 * taps + 2 * tap + which;
                      return offsets[static_cast<size_t>((line * height + r) * width + c)];
                    };
                    const Image plane{image, x.data() + (n * channels + channel) * 30};
                    const double y = static_cast<double>(r * 2 - 1 + tap / kw) + moved(0),
                                 z = static_cast<double>(c * 2 + tap % kw * 2) + moved(1);
                    double v = plane.between({y, z}, [&](const Extents& e) { return plane.or_zero(e); });
                    if (has_mask)
                      v *= mask[static_cast<size_t>((((n * offset_groups + g) * taps + tap) * height + r) * width + c)];
                    sum += v * w[static_cast<size_t>((k * (channels / groups) + i) * taps + tap)];
                  }
                wanted.push_back(sum);
              }
        std::vector<TensorData> inputs{tensor({2, channels, 6, 5}, x),
                                       tensor({2, offset_groups * 2 * taps, height, width}, offsets)};
        if (has_mask) inputs.push_back(tensor({2, offset_groups * taps, height, width}, mask));
        EXPECT_THAT(outputs_of(f.import(m), inputs), Pointwise(DoubleNear(1e-4), wanted));
      }
  TestModel other(19);
  other.input("x", {1, 2, 6, 5}).input("o", {1, 12, 4, 3}).floats("w", {1, 2, 3, 2}, Floats(12, 1));
  other.node("DeformConv", {"x", "w", "o"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(other), HasSubstr("offsets f32[1, 12, 4, 3] of an output of 4 along axis 3"));
}

// As ONNX Runtime has it: a sample for each element that a bin is long, at least one; samples more than an element
// away from the image count as zeros.
double adaptive_mean(const Image& image, double y, double x, double bin_height, double bin_width) {
  const auto rows = static_cast<int64_t>(std::ceil(bin_height)), columns = static_cast<int64_t>(std::ceil(bin_width));
  double sum = 0;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const double v = y + (static_cast<double>(i) + 0.5) * bin_height / static_cast<double>(rows),
                   u = x + (static_cast<double>(j) + 0.5) * bin_width / static_cast<double>(columns);
      const auto height = static_cast<double>(image.extents[0]), width = static_cast<double>(image.extents[1]);
      if (v < -1 || v > height || u < -1 || u > width) continue;
      sum += image.between({std::clamp(v, 0.0, height - 1), std::clamp(u, 0.0, width - 1)}, [&](Extents e) {
        return image.at({std::min(e[0], image.extents[0] - 1), std::min(e[1], image.extents[1] - 1)});
      });
    }
  return sum / static_cast<double>(std::max<int64_t>(1, rows * columns));
}

TEST(Regions, HaveAsManySamplesAsTheyAreLarge) {
  const ModelFolder f;
  const Extents space{7, 9};
  const Floats x = drawn(2 * 3 * 63, -2, 2, 1);
  // Inside, beyond each edge, larger than the image, of less than an element, and turned around.
  const Floats rois{0.3F, 0.9F, 8.1F, 6.7F, -4, -3, 3.3F, 20.4F, -30, -20, 70.2F, 40.9F,
                    2.2F, 3.1F, 2.4F, 3.2F, 5,  5,  1,    2,     8,   6,   8,     6};
  const std::vector<int64_t> images{0, 1, 0, 1, 1, 0};
  for (const bool is_aligned : {false, true}) {
    TestModel m(16);
    m.input("x", {2, 3, 7, 9}).input("r", {6, 4}).numbers("i", {6}, images);
    m.node("RoiAlign", {"x", "r", "i"}, {"y"}).number("output_height", 3).number("output_width", 2);
    m.text("coordinate_transformation_mode", is_aligned ? "half_pixel" : "output_half_pixel").output("y");
    std::vector<double> wanted;
    for (int64_t r = 0; r < 6; ++r)
      for (int64_t c = 0; c < 3; ++c)
        for (int64_t i = 0; i < 3; ++i)
          for (int64_t j = 0; j < 2; ++j) {
            const auto edge = [&](int64_t which) {
              return static_cast<double>(rois[static_cast<size_t>(r * 4 + which)]) - (is_aligned ? 0.5 : 0);
            };
            const double height = std::max(edge(3) - edge(1), is_aligned ? -1e9 : 1),
                         width = std::max(edge(2) - edge(0), is_aligned ? -1e9 : 1);
            const Image image{space, x.data() + (images[static_cast<size_t>(r)] * 3 + c) * 63};
            wanted.push_back(adaptive_mean(image, edge(1) + static_cast<double>(i) * height / 3,
                                           edge(0) + static_cast<double>(j) * width / 2, height / 3, width / 2));
          }
    EXPECT_THAT(outputs_of(f.import(m), {tensor({2, 3, 7, 9}, x), tensor({6, 4}, rois)}),
                Pointwise(DoubleNear(1e-4), wanted))
        << is_aligned;
  }
}

}  // namespace
}  // namespace hone
