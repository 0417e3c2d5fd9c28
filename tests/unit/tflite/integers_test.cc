// Operators of whole numbers, and the angle of a point.
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

template <class T>
TensorData tensor_of(DType t, const Extents& shape, const std::vector<T>& v) {
  return {{t, shape}, bytes_of_numbers(v)};
}

// The result of an operator on two tensors of one type; the model knows the second one where `is_known`.
template <class T>
std::vector<int64_t> of_two(int32_t number, int8_t type, DType t, const std::vector<T>& a, const std::vector<T>& b,
                            bool is_known) {
  TfliteModel m;
  const auto count = static_cast<int32_t>(a.size()), other = static_cast<int32_t>(b.size());
  m.input("a", {count}, type).tensor("y", {count}, type);
  if (is_known)
    m.data("b", {other}, type, bytes_of_numbers(b));
  else
    m.input("b", {other}, type);
  m.op(number, {"a", "b"}, {"y"}).output("y");
  std::vector<TensorData> inputs{tensor_of(t, {count}, a)};
  if (!is_known) inputs.push_back(tensor_of(t, {other}, b));
  return tensors_of(m, inputs).at(0).numbers();
}

TEST(TfliteIntegers, PowersByExponentsOfACall) {
  const std::vector<int32_t> base{2, -3, 0, 7, -1, -1, 1, 0, 2, 10, -2, 46340},
      exponent{10, 3, 0, 1, 1000001, 1000000, 77, 5, 30, 9, 31, 2};
  EXPECT_THAT(of_two(78, kTfInt, i32, base, exponent, false),
              ElementsAre(1024, -27, 1, 7, -1, 1, 1, 0, 1073741824, 1000000000, INT32_MIN, 2147395600));
}

TEST(TfliteIntegers, PowersByKnownExponents) {
  EXPECT_THAT(of_two<int32_t>(78, kTfInt, i32, {2, -3, 0, 9}, {5}, true), ElementsAre(32, -243, 0, 59049));
  EXPECT_THAT(of_two<int32_t>(78, kTfInt, i32, {2, -3, 0, 9}, {0}, true), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(of_two<int32_t>(78, kTfInt, i32, {2, -3, 0, 9}, {1, 2, 3, 4}, true), ElementsAre(2, 9, 0, 6561));
}

TEST(TfliteIntegers, PowersByNegativeExponentsAreRefused) {
  TfliteModel known;
  known.input("a", {2}, kTfInt).numbers("b", {1, -1}).tensor("y", {2}, kTfInt).op(78, {"a", "b"}, {"y"}).output("y");
  EXPECT_THAT(TfliteFolder().refusal(known), HasSubstr("a power of whole numbers by -1"));
  EXPECT_ANY_THROW(of_two<int32_t>(78, kTfInt, i32, {2, 3}, {1, -1}, false));
}

TEST(TfliteIntegers, ShiftsKeepTheSign) {
  const std::vector<int32_t> x{-1, -8, 100, INT32_MIN, INT32_MAX, 5, -5, 1 << 20}, by{1, 2, 3, 31, 30, 0, 40, -3};
  for (const bool is_known : {false, true}) {
    std::vector<int64_t> wanted;
    for (size_t i = 0; i < x.size(); ++i) wanted.push_back(x[i] >> std::clamp(by[i], 0, 31));
    EXPECT_THAT(of_two(161, kTfInt, i32, x, by, is_known), ElementsAreArray(wanted));
  }
  EXPECT_THAT(of_two<int8_t>(161, kTfSigned, i8, {-128, 127, -1, 64}, {7, 6, 3, 9}, false), ElementsAre(-1, 1, -1, 0));
  EXPECT_THAT(of_two<uint8_t>(161, kTfByte, u8, {255, 128, 7, 64}, {7, 6, 1, 200}, false), ElementsAre(1, 2, 3, 0));
  EXPECT_THAT(of_two<int16_t>(161, kTfShort, i16, {-32768, 32767, -3, 1}, {15, 14, 1, 0}, false),
              ElementsAre(-1, 1, -2, 1));
}

enum : int8_t { kTfUnsignedInt = 15, kTfUnsignedShort = 16 };

TEST(TfliteIntegers, BitsOfOneSize) {
  TfliteModel whole;
  whole.input("x", {3}, kTfInt).tensor("y", {3}, kTfUnsignedInt).tensor("z", {3}, kTfInt);
  whole.op(159, {"x"}, {"y"}).op(159, {"y"}, {"z"}).output("y").output("z");
  const std::vector<TensorData> out = tensors_of(whole, {tensor_of<int32_t>(i32, {3}, {-1, 7, INT32_MIN})});
  EXPECT_THAT(out[0].numbers(), ElementsAre(4294967295, 7, 2147483648));
  EXPECT_THAT(out[1].numbers(), ElementsAre(-1, 7, INT32_MIN));
}

TEST(TfliteIntegers, BitsOfSmallerAndLargerTypes) {
  const std::vector<int32_t> numbers{0x01020384, -2, 0x7fffffff};
  TfliteModel apart;
  apart.input("x", {3}, kTfInt).tensor("y", {3, 4}, kTfSigned).op(159, {"x"}, {"y"}).output("y");
  const TensorData bytes = tensors_of(apart, {tensor_of(i32, {3}, numbers)}).at(0);
  EXPECT_EQ(bytes.type().shape, (Extents{3, 4}));
  EXPECT_THAT(bytes.numbers(), ElementsAre(-124, 3, 2, 1, -2, -1, -1, -1, -1, -1, -1, 127));
  TfliteModel joined;
  joined.input("x", {3, 4}, kTfSigned).tensor("y", {3}, kTfInt).op(159, {"x"}, {"y"}).output("y");
  const TensorData back =
      tensors_of(joined, {tensor_of<int8_t>(i8, {3, 4}, {-124, 3, 2, 1, -2, -1, -1, -1, -1, -1, -1, 127})}).at(0);
  EXPECT_EQ(back.type().shape, (Extents{3}));
  EXPECT_THAT(back.numbers(), ElementsAre(0x01020384, -2, 0x7fffffff));
  TfliteModel wide;
  wide.input("x", {2}, kTfLong).tensor("y", {2, 4}, kTfUnsignedShort).op(159, {"x"}, {"y"}).output("y");
  EXPECT_THAT(tensors_of(wide, {tensor_of<int64_t>(i64, {2}, {0x0001000200038004, -1})}).at(0).numbers(),
              ElementsAre(0x8004, 3, 2, 1, 0xffff, 0xffff, 0xffff, 0xffff));
}

TEST(TfliteIntegers, BitsOfFloatsAreThoseOfKnownOnes) {
  TfliteModel known;
  known.input("a", {2}, kTfInt).floats("f", {2}, {1, -2}).tensor("y", {2}, kTfInt).tensor("z", {2}, kTfInt);
  known.op(159, {"f"}, {"y"}).op(0, {"a", "y"}, {"z"}).output("z");
  EXPECT_THAT(tensors_of(known, {tensor_of<int32_t>(i32, {2}, {0, 0})}).at(0).numbers(),
              ElementsAre(std::bit_cast<int32_t>(1.0f), std::bit_cast<int32_t>(-2.0f)));
  TfliteModel found;
  found.input("x", {2}).tensor("y", {2}, kTfInt).op(159, {"x"}, {"y"}).output("y");
  EXPECT_THAT(TfliteFolder().refusal(found), HasSubstr("bits of floats that only a call knows are not supported"));
  TfliteModel wrong;
  wrong.input("x", {3}, kTfSigned).tensor("y", {}, kTfInt).op(159, {"x"}, {"y"}).output("y");
  EXPECT_THAT(TfliteFolder().refusal(wrong), HasSubstr("s8[3] as s32"));
}

TEST(TfliteIntegers, Angles) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Floats some = {0,       -0.0f, 1,      -1,    0.5f, -0.25f, 3,      -7,     1e-20f,
                       -1e-20f, 1e30f, -1e30f, 1e-3f, inf,  -inf,   0.999f, 1.001f, nan};
  Floats y, x;
  for (const float b : some)
    for (const float a : some) y.push_back(b), x.push_back(a);
  TfliteModel m;
  const auto count = static_cast<int32_t>(y.size());
  m.input("y", {count}).input("x", {count}).op(156, {"y", "x"}, {"z"}).output("z");
  const std::vector<double> got = outputs_of(m, {tensor({count}, y), tensor({count}, x)});
  for (size_t i = 0; i < got.size(); ++i) {
    const double wanted = std::atan2(static_cast<double>(y[i]), static_cast<double>(x[i]));
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(got[i])) << y[i] << " " << x[i];
      continue;
    }
    EXPECT_NEAR(got[i], wanted, 4e-7) << y[i] << " " << x[i];
    EXPECT_EQ(std::signbit(got[i]), std::signbit(wanted)) << y[i] << " " << x[i];
  }
}

}  // namespace
}  // namespace hone::tflite
