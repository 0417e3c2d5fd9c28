// Resize where the graph's operator is not enough, against ONNX's definition written out along one axis.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/graph/node_tests.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// ONNX's filters: a footprint of neighbours around the element in front of the place, as wide as the scale asks for.
double filtered(const Floats& x, double place, double scale, bool is_cubic, double a, bool excludes) {
  scale = std::min(scale, 1.0);
  const double whole = std::floor(place), ratio = place == whole ? 1 : place - whole;
  const auto start = static_cast<int64_t>(std::floor((is_cubic ? -2 : -1) / scale)) + 1, count = 2 - 2 * start;
  const int64_t first = static_cast<int64_t>(place == whole ? whole - 1 : whole) + start;
  double sum = 0, all = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double d = std::abs(scale * (static_cast<double>(start + i) - ratio));
    const double weight = !is_cubic ? std::max(0.0, 1 - d)
                          : d <= 1  ? (a + 2) * d * d * d - (a + 3) * d * d + 1
                          : d < 2   ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a
                                    : 0;
    const int64_t at = first + i, extent = static_cast<int64_t>(x.size());
    if (excludes && (at < 0 || at >= extent)) continue;
    all += weight;
    sum += weight * x[static_cast<size_t>(std::clamp<int64_t>(at, 0, extent - 1))];
  }
  return sum / all;
}

TEST(Resize, WithFiltersAsWideAsWhatAnElementStandsFor) {
  const ModelFolder f;
  for (const bool is_cubic : {false, true})
    for (const bool excludes : {false, true})
      for (const int64_t out : {2, 5, 7, 19}) {
        const Floats x = numbers(50, 1);
        TestModel m(18);
        m.input("x", {1, 1, 1, 50}).numbers("size", {4}, {1, 1, 1, out});
        m.node("Resize", {"x", "", "", "size"}, {"y"}).text("mode", is_cubic ? "cubic" : "linear");
        m.number("antialias", 1).number("exclude_outside", excludes ? 1 : 0).real("cubic_coeff_a", -0.5F).output("y");
        std::vector<double> wanted;
        const double scale = static_cast<double>(out) / 50;
        for (int64_t i = 0; i < out; ++i)
          wanted.push_back(filtered(x, (static_cast<double>(i) + 0.5) / scale - 0.5, scale, is_cubic, -0.5, excludes));
        EXPECT_THAT(outputs_of(f.import(m), {tensor({1, 1, 1, 50}, x)}), Near(wanted))
            << (is_cubic ? "cubic " : "linear ") << excludes << " " << out;
      }
}

TEST(Resize, KeepsTheCentreWhereTheRestOfAScaleIsCutOff) {
  const ModelFolder f;
  const Floats x = numbers(6, 2);
  TestModel m(19);
  m.input("x", {1, 6}).floats("s", {2}, {1, 2.3F}).node("Resize", {"x", "", "s"}, {"y"}).text("mode", "linear");
  m.text("coordinate_transformation_mode", "half_pixel_symmetric").output("y");
  std::vector<double> wanted;
  const double scale = 2.3F, offset = 3 * (1 - 13 / (scale * 6));
  for (int i = 0; i < 13; ++i) wanted.push_back(filtered(x, offset + (i + 0.5) / scale - 0.5, 1, false, 0, false));
  EXPECT_THAT(outputs_of(f.import(m), {tensor({1, 6}, x)}), Near(wanted));
}

TEST(Resize, OfAPartHasAValueForWhatIsBeyondTheImage) {
  const ModelFolder f;
  TestModel m(13);
  m.input("x", {1, 5}).floats("roi", {4}, {0, 0.25F, 1, 1.25F}).floats("none", {0}, {}).numbers("size", {2}, {1, 5});
  m.node("Resize", {"x", "roi", "none", "size"}, {"y"}).text("mode", "linear").real("extrapolation_value", -7);
  m.text("coordinate_transformation_mode", "tf_crop_and_resize").output("y");
  EXPECT_THAT(outputs_of(f.import(m), {tensor({1, 5}, {10, 20, 30, 40, 50})}), ElementsAre(20, 30, 40, 50, -7));
  TestModel short_roi(13);
  short_roi.input("x", {1, 5}).floats("roi", {2}, {0, 1}).floats("none", {0}, {}).numbers("size", {2}, {1, 5});
  short_roi.node("Resize", {"x", "roi", "none", "size"}, {"y"});
  short_roi.text("coordinate_transformation_mode", "tf_crop_and_resize").output("y");
  EXPECT_THAT(f.refusal(short_roi), HasSubstr("a roi of 2 numbers for 2 axes"));
}

TEST(Resize, HasOneScaleWhereItKeepsTheAspect) {
  const ModelFolder f;
  for (const auto& [policy, wanted] :
       {std::pair<const char*, Extents>{"not_larger", {1, 1, 4, 6}}, {"not_smaller", {1, 1, 7, 11}}}) {
    TestModel m(18);
    m.input("x", {1, 1, 2, 3}).numbers("size", {2}, {7, 6}).node("Resize", {"x", "", "", "size"}, {"y"});
    m.ints("axes", {2, 3}).text("keep_aspect_ratio_policy", policy).output("y");
    // 7 / 2 times 3 elements are 10.5, which rounds up.
    EXPECT_EQ(f.import(m).graph.outputs.at(0).type.shape, wanted) << policy;
  }
}

// 0.7 and 0.29 as floats are a little less than these numbers: the products are whole in f32.
TEST(Resize, ExtentsAreProductsOfFloats) {
  const ModelFolder f;
  for (const auto& [extent, scale, wanted] : {std::tuple<int64_t, float, int64_t>{20, 0.7F, 14}, {100, 0.29F, 29}})
    for (const char* op : {"Resize", "Upsample"}) {
      const bool is_resize = std::string(op) == "Resize";
      TestModel m(is_resize ? 13 : 9);
      m.input("x", {1, 1, extent, 2}).floats("s", {4}, {1, 1, scale, 1});
      m.node(op, is_resize ? std::vector<std::string>{"x", "", "s"} : std::vector<std::string>{"x", "s"}, {"y"});
      EXPECT_EQ(f.import(m.output("y")).graph.outputs.at(0).type.shape, (Extents{1, 1, wanted, 2})) << op;
    }
}

// An element without weight is not read: no infinity of it makes a NaN.
TEST(Resize, ReadsNoElementWithoutWeight) {
  const ModelFolder f;
  TestModel m(19);
  m.input("x", {1, 4}).floats("s", {2}, {1, 1.5F}).node("Resize", {"x", "", "s"}, {"y"}).text("mode", "linear");
  m.text("coordinate_transformation_mode", "half_pixel_symmetric").output("y");
  const std::vector<double> got = outputs_of(f.import(m), {tensor({1, 4}, {1, INFINITY, 2, 3})});
  // Whole places are elements as they are.
  std::vector<double> wanted;
  for (int i = 0; i < 6; ++i) {
    const double place = (i + 0.5) / 1.5 - 0.5, whole = std::floor(place);
    const Floats x{1, INFINITY, 2, 3};
    const auto at = [&](double v) { return static_cast<double>(x[static_cast<size_t>(std::clamp(v, 0.0, 3.0))]); };
    wanted.push_back(place == whole ? at(whole) : at(whole) * (1 - (place - whole)) + at(whole + 1) * (place - whole));
  }
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isinf(wanted[i]))
      EXPECT_EQ(got[i], wanted[i]) << i;
    else
      EXPECT_NEAR(got[i], wanted[i], 1e-5) << i;
  }
}

}  // namespace
}  // namespace hone
