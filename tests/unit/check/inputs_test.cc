#include "compiler/check/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/narrow_floats.h"

namespace hone {
namespace {

template <class T>
std::vector<T> fill(DType t, int64_t n, uint64_t seed, uint32_t param) {
  std::vector<T> v(n);
  EXPECT_TRUE(fill_input(v.data(), t, n, seed, param).ok());
  return v;
}

// The same on every machine: a reference computed on an ARM board and one computed here must be of the same inputs.
TEST(Inputs, HaveTheirGoldenValues) {
  EXPECT_EQ(fill<float>(f32, 3, 1, 0),
            (std::vector<float>{0x1.3f6c400000000p-2F, 0x1.8c50100000000p-2F, 0x1.e316d80000000p-1F}));
  EXPECT_EQ(fill<double>(f64, 2, 1, 0), (std::vector<double>{0x1.3f6c410ee5084p-2, 0x1.8c5017a36c6c0p-2}));
  EXPECT_EQ(fill<int8_t>(i8, 4, 7, 2), (std::vector<int8_t>{-68, 107, 120, 24}));
  EXPECT_EQ(fill<int32_t>(i32, 4, 7, 3), (std::vector<int32_t>{-17, -33, -13, -111}));
}

TEST(Inputs, DependOnSeedAndParameter) {
  EXPECT_EQ(fill<float>(f32, 64, 1, 0), fill<float>(f32, 64, 1, 0));
  EXPECT_NE(fill<float>(f32, 64, 1, 0), fill<float>(f32, 64, 2, 0));
  EXPECT_NE(fill<float>(f32, 64, 1, 0), fill<float>(f32, 64, 1, 1));
}

TEST(Inputs, FloatsCoverTheirRange) {
  const std::vector<float> v = fill<float>(f32, 100000, 3, 0);
  const auto [low, high] = std::minmax_element(v.begin(), v.end());
  EXPECT_GE(*low, -1.0F);
  EXPECT_LT(*low, -0.999F);
  EXPECT_LT(*high, 1.0F);
  EXPECT_GT(*high, 0.999F);
  double sum = 0;
  for (const float x : v) sum += x;
  EXPECT_NEAR(sum / 100000, 0, 0.01);
}

TEST(Inputs, FloatsOf16BitsAreTheSameNumbersInEither) {
  const std::vector<uint16_t> halves = fill<uint16_t>(f16, 5000, 3, 0), bfloats = fill<uint16_t>(bf16, 5000, 3, 0);
  float low = 0, high = 0;
  for (size_t i = 0; i < halves.size(); ++i) {
    const float x = float_of_f16(halves[i]);
    ASSERT_EQ(x, float_of_bf16(bfloats[i]));
    ASSERT_EQ(x * 128, std::floor(x * 128));
    low = std::min(low, x);
    high = std::max(high, x);
  }
  EXPECT_EQ(low, -1);
  EXPECT_EQ(high, 127.0F / 128);
}

TEST(Inputs, SmallIntegersCoverEveryValue) {
  std::vector<bool> seen(256);
  for (const uint8_t x : fill<uint8_t>(u8, 20000, 3, 0)) seen[x] = true;
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 256);
  const std::vector<int32_t> v = fill<int32_t>(i32, 20000, 3, 0);
  EXPECT_EQ(*std::min_element(v.begin(), v.end()), -128);
  EXPECT_EQ(*std::max_element(v.begin(), v.end()), 127);
}

TEST(Inputs, AreNeverAllZeros) {
  for (uint64_t seed = 0; seed < 2000; ++seed) EXPECT_NE(fill<uint8_t>(boolean, 1, seed, 0)[0], 0);
}

TEST(Inputs, RefuseWhatTheyCannotFill) {
  uint16_t x;
  EXPECT_EQ(fill_input(&x, DType{TypeCode::kFloat, 8}, 1, 1, 0).code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace hone
