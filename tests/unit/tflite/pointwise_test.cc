// Operators that work element by element.
#include <cmath>
#include <functional>

#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Floats kNumbers = {-7, -1.5f, -0.5f, 0.25f, 0.5f, 1, 2.5f, 7};

TEST(TflitePointwise, FunctionsOfOneOperand) {
  const std::vector<std::pair<int32_t, std::function<double(double)>>> functions = {
      {8, [](double x) { return std::floor(x); }},
      {14, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {19, [](double x) { return std::max(x, 0.0); }},
      {20, [](double x) { return std::clamp(x, -1.0, 1.0); }},
      {21, [](double x) { return std::clamp(x, 0.0, 6.0); }},
      {28, [](double x) { return std::tanh(x); }},
      {47, [](double x) { return std::exp(x); }},
      {59, [](double x) { return -x; }},
      {66, [](double x) { return std::sin(x); }},
      {92, [](double x) { return x * x; }},
      {101, [](double x) { return std::abs(x); }},
      {104, [](double x) { return std::ceil(x); }},
      {108, [](double x) { return std::cos(x); }},
      {111, [](double x) { return x < 0 ? std::expm1(x) : x; }},
      {116, [](double x) { return std::nearbyint(x); }},
      {117, [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }},
      {152, [](double x) { return std::clamp(x, 0.0, 1.0); }},
      {158, [](double x) { return x > 0 ? 1.0 : -1.0; }},
  };
  for (const auto& [number, function] : functions) {
    TfliteModel m;
    m.input("x", {8}).op(number, {"x"}, {"y"}).output("y");
    const std::vector<double> got = outputs_of(m, {tensor({8}, kNumbers)});
    ASSERT_EQ(got.size(), kNumbers.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const double wanted = function(static_cast<double>(kNumbers[i]));
      EXPECT_NEAR(got[i], wanted, 1e-5 * (1 + std::abs(wanted))) << "operator " << number << " of " << kNumbers[i];
    }
  }
  for (const int32_t number : {73, 75, 76}) {
    TfliteModel m;
    m.input("x", {2}).op(number, {"x"}, {"y"}).output("y");
    const auto wanted = number == 73   ? std::vector<double>{0, std::log(4.0)}
                        : number == 75 ? std::vector<double>{1, 2}
                                       : std::vector<double>{1, 0.5};
    EXPECT_THAT(outputs_of(m, {tensor({2}, {1, 4})}), Near(wanted)) << number;
  }
}

TEST(TflitePointwise, FunctionsOfTwoOperandsAreBroadcast) {
  const std::vector<std::pair<int32_t, std::function<double(double, double)>>> functions = {
      {0, [](double a, double b) { return a + b; }},
      {18, [](double a, double b) { return a * b; }},
      {41, [](double a, double b) { return a - b; }},
      {42, [](double a, double b) { return a / b; }},
      {55, [](double a, double b) { return std::max(a, b); }},
      {57, [](double a, double b) { return std::min(a, b); }},
      {58, [](double a, double b) { return a < b; }},
      {61, [](double a, double b) { return a > b; }},
      {62, [](double a, double b) { return a >= b; }},
      {63, [](double a, double b) { return a <= b; }},
      {71, [](double a, double b) { return a == b; }},
      {72, [](double a, double b) { return a != b; }},
      {90, [](double a, double b) { return std::floor(a / b); }},
      {95, [](double a, double b) { return a - std::floor(a / b) * b; }},
      {99, [](double a, double b) { return (a - b) * (a - b); }},
  };
  const Floats b = {0.5f, -2};
  for (const auto& [number, function] : functions) {
    const bool is_comparison = number == 58 || (number >= 61 && number <= 63) || number == 71 || number == 72;
    TfliteModel m;
    m.input("a", {4, 2}).input("b", {2}).tensor("y", {4, 2}, is_comparison ? kTfBool : kTfFloat);
    m.op(number, {"a", "b"}, {"y"}).output("y");
    std::vector<double> wanted;
    for (size_t i = 0; i < kNumbers.size(); ++i)
      wanted.push_back(function(static_cast<double>(kNumbers[i]), static_cast<double>(b[i % 2])));
    EXPECT_THAT(outputs_of(m, {tensor({4, 2}, kNumbers), tensor({2}, b)}), Near(wanted)) << "operator " << number;
  }
}

TEST(TflitePointwise, WholeNumbersAreDividedDownwards) {
  for (const auto& [number, wanted] : {std::pair{90, std::vector<double>{-4, -3, 3}}, {95, {1, 0, 1}}}) {
    TfliteModel m;
    m.input("a", {3}, kTfInt).data("b", {}, kTfInt, bytes_of_numbers<int32_t>({2})).tensor("y", {3}, kTfInt);
    m.op(number, {"a", "b"}, {"y"}).output("y");
    EXPECT_THAT(outputs_of(m, {TensorData::of_numbers({-7, -6, 7}, i32)}), testing::ElementsAreArray(wanted));
  }
}

TEST(TflitePointwise, FusedActivations) {
  TfliteModel m;
  m.input("a", {4}).floats("b", {4}, {1, 1, 1, 1});
  m.op(0, {"a", "b"}, {"s"}, tables::CreateAddOptions(m.b, 3));
  m.op(41, {"s", "b"}, {"y"}, tables::CreateSubOptions(m.b, 2)).output("y");
  EXPECT_THAT(outputs_of(m, {tensor({4}, {-3, 0.5f, 4, 9})}), ElementsAre(-1, 0.5, 1, 1));
}

TEST(TflitePointwise, SlopesAndChoices) {
  TfliteModel leaky;
  leaky.input("x", {3}).op(98, {"x"}, {"y"}, tables::CreateLeakyReluOptions(leaky.b, 0.25f)).output("y");
  EXPECT_THAT(outputs_of(leaky, {tensor({3}, {-4, 0, 4})}), ElementsAre(-1, 0, 4));
  TfliteModel prelu;
  prelu.input("x", {1, 1, 2, 2}).floats("a", {1, 1, 2}, {0.5f, 0.25f}).op(54, {"x", "a"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(prelu, {tensor({1, 1, 2, 2}, {-4, -4, 4, 4})}), ElementsAre(-2, -1, 4, 4));
  TfliteModel of_rows;
  of_rows.data("c", {2}, kTfBool, std::string("\x01\x00", 2)).input("a", {2, 2}).input("b", {2, 2});
  of_rows.op(64, {"c", "a", "b"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(of_rows, {tensor({2, 2}, {1, 2, 3, 4}), tensor({2, 2}, {5, 6, 7, 8})}),
              ElementsAre(1, 2, 7, 8));
  TfliteModel of_all;
  of_all.data("c", {2}, kTfBool, std::string("\x01\x00", 2)).input("a", {2, 2}).input("b", {2, 2});
  of_all.op(123, {"c", "a", "b"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(of_all, {tensor({2, 2}, {1, 2, 3, 4}), tensor({2, 2}, {5, 6, 7, 8})}),
              ElementsAre(1, 6, 3, 8));
}

TEST(TflitePointwise, Casts) {
  TfliteModel m;
  m.input("x", {3}).tensor("n", {3}, kTfInt).op(53, {"x"}, {"n"}).op(53, {"n"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(m, {tensor({3}, {-1.75f, 0.5f, 2.75f})}), ElementsAre(-1, 0, 2));
}

TEST(TflitePointwise, SumsOfMany) {
  TfliteModel m;
  m.input("a", {2}).input("b", {2}).input("c", {2}).op(106, {"a", "b", "c"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(m, {tensor({2}, {1, 2}), tensor({2}, {10, 20}), tensor({2}, {100, 200})}),
              ElementsAre(111, 222));
}

TEST(TflitePointwise, TypesMustBeOne) {
  const TfliteFolder f;
  TfliteModel m;
  m.input("a", {2}).input("b", {2}, kTfInt).op(0, {"a", "b"}, {"y"}).output("y");
  EXPECT_EQ(f.refusal(m),
            "it has operators that are not supported:\n  ADD (version 1): f32[2] and s32[2]; 1 operator: 0 'y'");
}

}  // namespace
}  // namespace hone::tflite
