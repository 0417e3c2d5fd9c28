// Products, reductions and what works on rows.
#include <cmath>

#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Floats kSix = {1, 2, 3, 4, 5, 6};

TEST(TfliteProducts, FullyConnected) {
  const auto product = [](bool has_bias, bool keeps, int8_t activation) {
    TfliteModel m;
    m.input("x", {2, 1, 3}).floats("w", {2, 3}, {1, 0, -1, 1, 1, 1}).floats("b", {2}, {0.5f, -100});
    m.op(9, {"x", "w", has_bias ? "b" : ""}, {"y"}, tables::CreateFullyConnectedOptions(m.b, activation, 0, keeps));
    m.output("y");
    return tensors_of(m, {tensor({2, 1, 3}, kSix)})[0];
  };
  EXPECT_THAT(product(false, false, 0).values(), ElementsAre(-2, 6, -2, 15));
  EXPECT_THAT(product(true, false, 1).values(), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(product(true, false, 0).values(), ElementsAre(-1.5, -94, -1.5, -85));
  EXPECT_EQ(product(true, false, 0).type().shape, (Extents{2, 2}));
  EXPECT_EQ(product(true, true, 0).type().shape, (Extents{2, 1, 2}));
}

TEST(TfliteProducts, FullyConnectedByWeightsOfTheCaller) {
  TfliteModel m;
  m.input("x", {1, 2}).input("w", {2, 2}).op(9, {"x", "w"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(m, {tensor({1, 2}, {1, 2}), tensor({2, 2}, {1, 10, 100, 1000})}), ElementsAre(21, 2100));
}

TEST(TfliteProducts, OfMatrices) {
  const auto product = [](bool x, bool y) {
    TfliteModel m;
    m.input("x", {2, 2}).floats("c", {2, 2}, {1, 10, 100, 1000});
    m.op(126, {"x", "c"}, {"y"}, tables::CreateBatchMatMulOptions(m.b, x, y)).output("y");
    return outputs_of(m, {tensor({2, 2}, {1, 2, 3, 4})});
  };
  EXPECT_THAT(product(false, false), ElementsAre(201, 2010, 403, 4030));
  EXPECT_THAT(product(true, false), ElementsAre(301, 3010, 402, 4020));
  EXPECT_THAT(product(false, true), ElementsAre(21, 2100, 43, 4300));
}

std::vector<double> reduced(int32_t number, const std::vector<int32_t>& axes, bool keeps) {
  TfliteModel m;
  m.input("x", {2, 3}).numbers("a", axes);
  m.op(number, {"x", "a"}, {"y"}, tables::CreateReducerOptions(m.b, keeps)).output("y");
  return outputs_of(m, {tensor({2, 3}, kSix)});
}

TEST(TfliteReductions, OfAxes) {
  EXPECT_THAT(reduced(40, {1}, false), ElementsAre(2, 5));
  EXPECT_THAT(reduced(74, {-2}, true), ElementsAre(5, 7, 9));
  EXPECT_THAT(reduced(82, {0, 1}, false), ElementsAre(6));
  EXPECT_THAT(reduced(89, {0, 0}, false), ElementsAre(1, 2, 3));
}

TEST(TfliteReductions, Products) {
  EXPECT_THAT(reduced(81, {1}, false), ElementsAre(6, 120));
  EXPECT_THAT(reduced(81, {0, 1}, true), ElementsAre(720));
}

TEST(TfliteReductions, Cumulative) {
  const auto sums = [](bool is_exclusive, bool reverses) {
    TfliteModel m;
    m.input("x", {2, 3}).number("axis", 1);
    m.op(128, {"x", "axis"}, {"y"}, tables::CreateCumsumOptions(m.b, is_exclusive, reverses)).output("y");
    return outputs_of(m, {tensor({2, 3}, kSix)});
  };
  EXPECT_THAT(sums(false, false), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(sums(true, false), ElementsAre(0, 1, 3, 0, 4, 9));
  EXPECT_THAT(sums(false, true), ElementsAre(6, 5, 3, 15, 11, 6));
  EXPECT_THAT(sums(true, true), ElementsAre(5, 3, 0, 11, 6, 0));
}

TEST(TfliteReductions, OfBools) {
  for (const auto& [number, wanted] : {std::pair{91, std::vector<double>{1, 1}}, {140, {0, 1}}}) {
    TfliteModel m;
    m.input("x", {2, 2}, kTfBool).numbers("a", {1}).tensor("y", {2}, kTfBool).op(number, {"x", "a"}, {"y"}).output("y");
    EXPECT_THAT(outputs_of(m, {TensorData({boolean, {2, 2}}, std::string("\x00\x01\x01\x01", 4))}),
                testing::ElementsAreArray(wanted));
  }
}

TEST(TfliteReductions, AveragesOfImages) {
  TfliteModel m;
  m.input("x", {1, 1, 2, 2}).floats("w", {2, 1, 1, 2}, {1, 0, 0, 1}).numbers("a", {1, 2});
  m.op(3, {"x", "w"}, {"c"}, tables::CreateConvOptions(m.b, 0, 1, 1));
  m.op(40, {"c", "a"}, {"y"}).op(40, {"c", "a"}, {"z"}, tables::CreateReducerOptions(m.b, true));
  m.output("y").output("z");
  const auto out = tensors_of(m, {tensor({1, 1, 2, 2}, {1, 10, 3, 30})});
  EXPECT_THAT(out[0].values(), ElementsAre(2, 20));
  EXPECT_EQ(out[0].type().shape, (Extents{1, 2}));
  EXPECT_THAT(out[1].values(), ElementsAre(2, 20));
  EXPECT_EQ(out[1].type().shape, (Extents{1, 1, 1, 2}));
}

TEST(TfliteRows, Extremes) {
  for (const auto& [number, wanted] : {std::pair{56, std::vector<double>{1, 0}}, {79, {2, 1}}}) {
    TfliteModel m;
    m.input("x", {2, 3}).number("a", -1).tensor("y", {2}, kTfInt).op(number, {"x", "a"}, {"y"}).output("y");
    EXPECT_THAT(outputs_of(m, {tensor({2, 3}, {2, 9, 1, 7, 0, 3})}), testing::ElementsAreArray(wanted)) << number;
  }
  TfliteModel best;
  best.input("x", {1, 4}).number("k", 2).tensor("i", {1, 2}, kTfInt).op(48, {"x", "k"}, {"y", "i"});
  best.output("y").output("i");
  EXPECT_THAT(outputs_of(best, {tensor({1, 4}, {3, 9, 1, 7})}), ElementsAre(9, 7, 1, 3));
}

// The class of each pixel, behind a convolution.
TEST(TfliteRows, ExtremesOfChannels) {
  TfliteModel m;
  m.input("x", {1, 1, 2, 3}).floats("w", {3, 1, 1, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}).number("a", 3);
  m.op(3, {"x", "w"}, {"c"}, tables::CreateConvOptions(m.b, 0, 1, 1)).tensor("y", {1, 1, 2}, kTfLong);
  m.op(56, {"c", "a"}, {"y"}).output("y");
  const auto out = tensors_of(m, {tensor({1, 1, 2, 3}, {1, 5, 2, 7, 0, 8})});
  EXPECT_THAT(out[0].values(), ElementsAre(1, 2));
  EXPECT_EQ(out[0].type(), (TensorType{i64, {1, 1, 2}}));
}

TEST(TfliteRows, Softmax) {
  const double e = std::exp(1.0), e2 = std::exp(2.0);
  const auto with = [](int32_t number, float beta) {
    TfliteModel m;
    m.input("x", {1, 2});
    if (number == 25)
      m.op(25, {"x"}, {"y"}, tables::CreateSoftmaxOptions(m.b, beta));
    else
      m.op(50, {"x"}, {"y"});
    m.output("y");
    return outputs_of(m, {tensor({1, 2}, {0, 1})});
  };
  EXPECT_THAT(with(25, 1), Near(std::vector<double>{1 / (1 + e), e / (1 + e)}));
  EXPECT_THAT(with(25, 2), Near(std::vector<double>{1 / (1 + e2), e2 / (1 + e2)}));
  EXPECT_THAT(with(50, 1), Near(std::vector<double>{-std::log(1 + e), 1 - std::log(1 + e)}));
  const TfliteFolder f;
  TfliteModel m;
  m.input("x", {1, 2}).op(25, {"x"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(m), HasSubstr("beta=0"));
}

TEST(TfliteRows, Norms) {
  TfliteModel m;
  m.input("x", {2, 2}).op(11, {"x"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(m, {tensor({2, 2}, {3, 4, 0, 0})}), Near(std::vector<double>{0.6, 0.8, 0, 0}));
  TfliteModel response;
  response.input("x", {1, 1, 1, 3});
  response.op(13, {"x"}, {"y"}, tables::CreateResponseOptions(response.b, 1, 1, 0.5f, 0.75f)).output("y");
  const auto wanted = [](double x, double sum) { return x / std::pow(1 + 0.5 * sum, 0.75); };
  EXPECT_THAT(outputs_of(response, {tensor({1, 1, 1, 3}, {1, 2, 3})}),
              Near(std::vector<double>{wanted(1, 5), wanted(2, 14), wanted(3, 13)}));
}

}  // namespace
}  // namespace hone::tflite
