// Lengths by powers: LpNormalization of rows, LpPool of windows that reach into borders, GlobalLpPool of images.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <string>

#include "tests/unit/graph/onnx_models.h"

namespace hone {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

constexpr int kDouble = 11;  // ONNX's number of the type

std::vector<float> some_numbers(size_t count) {
  std::vector<float> x(count);
  for (size_t i = 0; i < count; ++i) x[i] = static_cast<float>((i * 7) % 11) - 4;
  return x;
}

TEST(LpNormalization, DividesRowsByTheirLengths) {
  const ModelFolder f;
  const int rows = 3, columns = 4;
  std::vector<float> x = some_numbers(rows * columns);
  for (int j = 0; j < columns; ++j) x[static_cast<size_t>(columns + j)] = 0;  // a row of zeros stays one
  for (int p : {1, 2})
    for (int axis : {-1, 0}) {
      const auto at = [&](int i, int j) { return double{x[static_cast<size_t>(i * columns + j)]}; };
      std::vector<double> expected;
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
          double sum = 0;
          for (int k = 0; k < (axis == 0 ? rows : columns); ++k)
            sum += std::pow(std::abs(axis == 0 ? at(k, j) : at(i, k)), p);
          expected.push_back(sum == 0 ? 0 : at(i, j) / std::pow(sum, 1.0 / p));
        }
      TestModel m;
      m.input("x", {rows, columns}).node("LpNormalization", {"x"}, {"y"}).output("y");
      m.number("axis", axis).number("p", p);
      EXPECT_THAT(outputs_of(f.import(m), {TensorData({f32, {rows, columns}}, floats_of(x))}),
                  Pointwise(DoubleNear(1e-6), expected))
          << p << " " << axis;
    }
}

TEST(LpNormalization, OfTinyNumbersIsOfLengthOne) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {1, 2}).node("LpNormalization", {"x"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(f.import(m), {TensorData({f32, {1, 2}}, floats_of({3e-16f, -4e-16f}))}),
              Pointwise(DoubleNear(1e-5), {0.6, -0.8}));
}

TestModel pool_of(int64_t p) {
  TestModel m;
  m.input("x", {1, 2, 5, 6}).node("LpPool", {"x"}, {"y"}).output("y");
  m.ints("kernel_shape", {2, 3}).ints("strides", {2, 2}).ints("pads", {1, 0, 0, 1});
  return m.number("p", p);
}

TEST(LpPool, IsItsDefinition) {
  const ModelFolder f;
  const int height = 5, width = 6;
  const std::vector<float> x = some_numbers(2 * height * width);
  for (int p : {1, 2, 3}) {
    // Rows -1 to 4 in windows of two: three; columns 0 to 6 in windows of three: three.
    std::vector<double> expected;
    for (int c = 0; c < 2; ++c)
      for (int oy = 0; oy < 3; ++oy)
        for (int ox = 0; ox < 3; ++ox) {
          double sum = 0;
          for (int y = 2 * oy - 1; y < 2 * oy + 1; ++y)
            for (int column = 2 * ox; column < 2 * ox + 3; ++column)
              if (y >= 0 && y < height && column < width)
                sum += std::pow(std::abs(x[static_cast<size_t>((c * height + y) * width + column)]), p);
          expected.push_back(std::pow(sum, 1.0 / p));
        }
    EXPECT_THAT(outputs_of(f.import(pool_of(p)), {TensorData({f32, {1, 2, 5, 6}}, floats_of(x))}),
                Pointwise(DoubleNear(1e-5), expected))
        << p;
  }
}

// Five elements in windows of two: with ceil_mode there is a third one, half of it outside.
TEST(LpPool, SumsWhatAWindowHasWhereItReachesOut) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {1, 1, 5}).node("LpPool", {"x"}, {"y"}).output("y");
  m.ints("kernel_shape", {2}).ints("strides", {2}).number("p", 1).number("ceil_mode", 1);
  EXPECT_THAT(outputs_of(f.import(m), {TensorData({f32, {1, 1, 5}}, floats_of({1, -2, 3, 4, -5}))}),
              Pointwise(DoubleNear(1e-6), {3.0, 7.0, 5.0}));
}

TEST(GlobalLpPool, IsTheLengthOfAnImage) {
  const ModelFolder f;
  for (int p : {1, 2, 3}) {
    TestModel m;
    m.input("x", {1, 2, 1, 2}).node("GlobalLpPool", {"x"}, {"y"}).output("y").number("p", p);
    const auto length = [&](double a, double b) { return std::pow(std::pow(a, p) + std::pow(b, p), 1.0 / p); };
    EXPECT_THAT(outputs_of(f.import(m), {TensorData({f32, {1, 2, 1, 2}}, floats_of({3, -4, 5, 12}))}),
                Pointwise(DoubleNear(1e-5), {length(3, 4), length(5, 12)}))
        << p;
  }
}

// Constants are of the tensor's type: a third rounded to f32 would be off by 1e-8.
TEST(GlobalLpPool, OfDoublesIsAsExactAsTheyAre) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {1, 1, 1, 2}, kDouble).node("GlobalLpPool", {"x"}, {"y"}).output("y").number("p", 3);
  const std::array<double, 2> numbers{1000, 2000};
  const TensorData x({f64, {1, 1, 1, 2}}, std::string(reinterpret_cast<const char*>(numbers.data()), sizeof numbers));
  EXPECT_THAT(outputs_of(f.import(m), {x}), Pointwise(DoubleNear(1e-9), {std::cbrt(9.0) * 1000}));
}

TEST(LpPool, SaysWhatIsWrong) {
  const ModelFolder f;
  EXPECT_THAT(f.refusal(pool_of(0)), HasSubstr("LpPool (opset 13): p=0 is not between 1 and 64"));
  TestModel m;
  m.input("x", {2, 3}).node("LpNormalization", {"x"}, {"y"}).output("y").number("p", 3);
  EXPECT_THAT(f.refusal(m), HasSubstr("p=3 is neither 1 nor 2"));
}

}  // namespace
}  // namespace hone
