// Nodes of other people's models in artifacts: unit tests compare them in the interpreter, here tensorc builds them.
#include <algorithm>
#include <cmath>

#include "tests/e2e/model/built_and_run.h"

namespace hone {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

std::vector<float> ascending(size_t count, float step) {
  std::vector<float> out;
  for (size_t i = 0; i < count; ++i) out.push_back(static_cast<float>(i) * step);
  return out;
}

// Offsets of whole elements: each element is the one to the right of its place, zero beyond the image.
TEST(DeformConvOfAModel, ReadsMovedElements) {
  TestModel m(19);
  m.input("x", {1, 1, 3, 3}).input("o", {1, 2, 3, 3}).floats("w", {1, 1, 1, 1}, {2});
  m.node("DeformConv", {"x", "w", "o"}, {"y"}).output("y");
  std::vector<float> offsets(18, 0);
  std::fill(offsets.begin() + 9, offsets.end(), 1);
  EXPECT_THAT(built_and_run(m, {floats({1, 1, 3, 3}, ascending(9, 1)), floats({1, 2, 3, 3}, offsets)}),
              ElementsAre(2, 4, 0, 8, 10, 0, 14, 16, 0));
}

TEST(GridSampleOfAModel, ReadsVolumes) {
  TestModel m(20);
  m.input("x", {1, 1, 2, 2, 2}).input("grid", {1, 1, 1, 2, 3});
  m.node("GridSample", {"x", "grid"}, {"y"}).text("mode", "linear").number("align_corners", 1).output("y");
  EXPECT_THAT(
      built_and_run(m, {floats({1, 1, 2, 2, 2}, ascending(8, 1)), floats({1, 1, 1, 2, 3}, {0, 0, 0, 1, -1, 1})}),
      Pointwise(DoubleNear(1e-5), std::vector<double>{3.5, 5}));
}

// A constant image has that mean wherever a region lies in it.
TEST(RoiAlignOfAModel, HasAsManySamplesAsACallsRegionIsLarge) {
  TestModel m(16);
  m.input("x", {1, 2, 8, 8}).input("r", {2, 4}).numbers("i", {2}, {0, 0});
  m.node("RoiAlign", {"x", "r", "i"}, {"y"}).number("output_height", 2).number("output_width", 2).output("y");
  const std::vector<double> got =
      built_and_run(m, {floats({1, 2, 8, 8}, std::vector<float>(128, 3)), floats({2, 4}, {1, 1, 7, 6, 2, 3, 3, 5})});
  EXPECT_THAT(got, Pointwise(DoubleNear(1e-5), std::vector<double>(16, 3)));
}

TEST(ResizeOfAModel, FiltersAndCrops) {
  TestModel filters(18);
  filters.input("x", {1, 1, 40}).numbers("s", {3}, {1, 1, 1}).node("Resize", {"x", "", "", "s"}, {"y"});
  filters.text("mode", "linear").number("antialias", 1).output("y");
  EXPECT_THAT(built_and_run(filters, {floats({1, 1, 40}, ascending(40, 1))}), ElementsAre(DoubleNear(19.5, 1e-4)));
  TestModel part(13);
  part.input("x", {1, 5}).floats("roi", {4}, {0, 0.25F, 1, 1.25F}).floats("none", {0}, {}).numbers("s", {2}, {1, 5});
  part.node("Resize", {"x", "roi", "none", "s"}, {"y"}).text("mode", "linear").real("extrapolation_value", -7);
  part.text("coordinate_transformation_mode", "tf_crop_and_resize").output("y");
  EXPECT_THAT(built_and_run(part, {floats({1, 5}, {10, 20, 30, 40, 50})}), ElementsAre(20, 30, 40, 50, -7));
}

TEST(BitwiseOfAModel, IsOfStoredBits) {
  TestModel m(18);
  m.input("a", {4}, kInt64).input("b", {4}, kInt64).node("BitwiseXor", {"a", "b"}, {"x"});
  m.node("BitwiseNot", {"x"}, {"y"}).output("y");
  EXPECT_THAT(built_and_run(m, {TensorData::of_numbers({5, -1, 0, 1}), TensorData::of_numbers({3, 7, -9, 1})}),
              ElementsAre(-7, 7, 8, -1));
}

// A window has nine places. In the first, four are elements and five are padding; in the last, four are elements.
TEST(AveragePoolOfAModel, CountsPaddingButNotWhatLiesBeyondIt) {
  TestModel m(19);
  m.input("x", {1, 1, 3, 3}).node("AveragePool", {"x"}, {"y"}).ints("kernel_shape", {3, 3}).ints("strides", {2, 2});
  m.ints("pads", {1, 1, 0, 0}).number("ceil_mode", 1).number("count_include_pad", 1).output("y");
  EXPECT_THAT(built_and_run(m, {floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})}),
              Pointwise(DoubleNear(1e-5), std::vector<double>{12.0 / 9, 16.0 / 6, 24.0 / 6, 28.0 / 4}));
}

TEST(GatesOfAModel, MayBeCoupled) {
  TestModel m(14);
  m.input("x", {1, 1, 1}).floats("w", {1, 4, 1}, {0, 0, 0, 0}).floats("r", {1, 4, 1}, {0, 0, 0, 0});
  m.floats("b", {1, 8}, {1, 9, -5, 2, 0, 0, 0, 0}).floats("h", {1, 1, 1}, {0}).floats("c", {1, 1, 1}, {3});
  m.node("LSTM", {"x", "w", "r", "b", "", "h", "c"}, {"y", "last", "cell"}).number("hidden_size", 1);
  m.number("input_forget", 1).output("cell");
  const double i = 1 / (1 + std::exp(-1.0));
  EXPECT_THAT(built_and_run(m, {floats({1, 1, 1}, {1})}),
              ElementsAre(DoubleNear((1 - i) * 3 + i * std::tanh(2.0), 1e-5)));
}

TEST(EmptyInputsOfAModel, AreGivenAsTheyAre) {
  TestModel m(13);
  m.input("none", {0, 3}).input("x", {1, 3}).node("Concat", {"none", "x"}, {"all"}).number("axis", 0);
  m.node("Neg", {"all"}, {"y"}).output("y");
  EXPECT_THAT(built_and_run(m, {floats({0, 3}, {}), floats({1, 3}, {1, 2, 3})}), ElementsAre(-1, -2, -3));
}

}  // namespace
}  // namespace hone
