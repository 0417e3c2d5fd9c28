#include "base/narrow_floats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hone {
namespace {

TEST(NarrowFloats, EveryValueSurvivesTheWayThereAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto b = static_cast<uint16_t>(bits);
    const float half = float_of_f16(b), bfloat = float_of_bf16(b);
    if (std::isnan(half))
      EXPECT_TRUE(std::isnan(float_of_f16(f16_of_float(half))));
    else
      ASSERT_EQ(f16_of_float(half), b);
    if (std::isnan(bfloat))
      EXPECT_TRUE(std::isnan(float_of_bf16(bf16_of_float(bfloat))));
    else
      ASSERT_EQ(bf16_of_float(bfloat), b);
  }
}

// Between two neighbours lies one boundary, which goes to the even one.
TEST(NarrowFloats, WhatLiesBetweenGoesToTheNearestAndTiesToTheEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const auto low = static_cast<uint16_t>(bits), high = static_cast<uint16_t>(bits + 1);
    const float middle = (float_of_f16(low) + float_of_f16(high)) / 2;  // exact: one bit more than f16 has
    ASSERT_EQ(f16_of_float(middle), bits % 2 == 0 ? low : high) << bits;
    ASSERT_EQ(f16_of_float(std::nextafter(middle, 0.0F)), low) << bits;
    ASSERT_EQ(f16_of_float(std::nextafter(middle, 1e9F)), high) << bits;
    ASSERT_EQ(f16_of_float(-middle), f16_of_float(middle) | 0x8000);
  }
  for (uint32_t bits = 0x0080; bits < 0x7f7f; ++bits) {
    const auto low = static_cast<uint16_t>(bits), high = static_cast<uint16_t>(bits + 1);
    const float middle = std::bit_cast<float>(bits << 16 | 0x8000u);
    ASSERT_EQ(bf16_of_float(middle), bits % 2 == 0 ? low : high);
    ASSERT_EQ(bf16_of_float(std::nextafter(middle, 0.0F)), low);
    ASSERT_EQ(bf16_of_float(std::nextafter(middle, std::numeric_limits<float>::infinity())), high);
  }
}

TEST(NarrowFloats, BeyondTheLargestIsInfinity) {
  EXPECT_EQ(f16_of_float(65504), 0x7bff);
  EXPECT_EQ(f16_of_float(65519.9F), 0x7bff);
  EXPECT_EQ(f16_of_float(65520), 0x7c00);
  EXPECT_EQ(f16_of_float(1e30F), 0x7c00);
  EXPECT_EQ(f16_of_float(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(bf16_of_float(std::numeric_limits<float>::max()), 0x7f80);
}

}  // namespace
}  // namespace hone
