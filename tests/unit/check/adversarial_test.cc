#include "compiler/check/adversarial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "base/narrow_floats.h"

namespace hone {
namespace {

constexpr int64_t kCount = 1000;

template <class T>
std::vector<T> filled(DType t, Adversary a, uint64_t seed = 1) {
  std::vector<T> v(kCount, T(1));
  EXPECT_TRUE(fill_adversarial(v.data(), t, kCount, a, seed));
  return v;
}

TEST(Adversarial, FloatsAreWhatTheirKindSays) {
  for (const float x : filled<float>(f32, Adversary::kLarge))
    EXPECT_TRUE(std::abs(x) >= 0x1p30 && std::abs(x) < 0x1p31);
  for (const float x : filled<float>(f32, Adversary::kNegative)) EXPECT_TRUE(x < 0 && x >= -1);
  for (const float x : filled<float>(f32, Adversary::kEqual)) EXPECT_EQ(x, 0.75F);
  const std::vector<float> mixed = filled<float>(f32, Adversary::kDenormal);
  const auto denormals =
      std::count_if(mixed.begin(), mixed.end(), [](float x) { return std::fpclassify(x) == FP_SUBNORMAL; });
  EXPECT_GT(denormals, kCount / 3);
  EXPECT_LT(denormals, 2 * kCount / 3);
  const std::vector<float> large = filled<float>(f32, Adversary::kLarge);
  EXPECT_TRUE(std::any_of(large.begin(), large.end(), [](float x) { return x < 0; }));
  EXPECT_TRUE(std::any_of(large.begin(), large.end(), [](float x) { return x > 0; }));
  EXPECT_EQ(filled<float>(f32, Adversary::kLarge), large);
  EXPECT_NE(filled<float>(f32, Adversary::kLarge, 2), large);
}

TEST(Adversarial, FloatsOf16BitsAreFinite) {
  for (const Adversary a : kAdversaries) {
    for (const uint16_t x : filled<uint16_t>(f16, a)) EXPECT_LE(std::abs(float_of_f16(x)), 64) << name_of(a);
    for (const uint16_t x : filled<uint16_t>(bf16, a)) EXPECT_TRUE(std::isfinite(float_of_bf16(x))) << name_of(a);
  }
  int denormals = 0;
  for (const uint16_t x : filled<uint16_t>(f16, Adversary::kDenormal))
    denormals += float_of_f16(x) != 0 && std::abs(float_of_f16(x)) < 0x1p-14;
  EXPECT_GT(denormals, kCount / 3);
}

TEST(Adversarial, QuantisedNumbersStayInTheirRange) {
  const std::vector<int8_t> ends = filled<int8_t>(i8, Adversary::kLarge);
  EXPECT_EQ(std::set<int>(ends.begin(), ends.end()), (std::set<int>{-128, 127}));
  for (const int8_t x : filled<int8_t>(i8, Adversary::kNegative)) EXPECT_LT(x, 0);
  for (const uint8_t x : filled<uint8_t>(u8, Adversary::kNegative)) EXPECT_LT(x, 128);
  for (const uint8_t x : filled<uint8_t>(u8, Adversary::kEqual)) EXPECT_EQ(x, 255);
}

TEST(Adversarial, ConditionsAndIndicesAreLeftAlone) {
  int64_t value = 42;
  for (const DType t : {i32, u32, i64, u64, boolean})
    for (const Adversary a : kAdversaries) EXPECT_FALSE(fill_adversarial(&value, t, 1, a, 1));
  for (const DType t : {i8, u8, i16, u16}) EXPECT_FALSE(fill_adversarial(&value, t, 1, Adversary::kDenormal, 1));
  EXPECT_EQ(value, 42);
}

}  // namespace
}  // namespace hone
