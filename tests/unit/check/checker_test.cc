#include "compiler/check/checker.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace hone {
namespace {

using ::testing::HasSubstr;

// 1,000 outputs of a reduction, each with a tolerance of 1e-5.
struct Floats {
  std::vector<int64_t> samples = std::vector<int64_t>(1000);
  std::vector<double> values = std::vector<double>(1000), tolerances = std::vector<double>(1000, 1e-5);
  std::vector<float> output = std::vector<float>(1000);
  Floats() {
    std::iota(samples.begin(), samples.end(), 0);
    for (int i = 0; i < 1000; ++i) output[i] = static_cast<float>(values[i] = std::sin(i) * 5);
  }
  CheckResult check() const {
    return check_output(output.data(), f32,
                        {.samples = samples,
                         .values = values,
                         .int_values = {},
                         .tolerances = tolerances,
                         .error_norm = 1e-3});  // of values whose norm is 112
  }
};

TEST(Checker, AcceptsWhatIsWithinTheBounds) {
  const CheckResult r = Floats().check();
  EXPECT_TRUE(r.ok) << r.message;
  EXPECT_GT(r.rel_error, 0);
  EXPECT_LT(r.rel_error, 1e-6);
}

// Small against the whole (its share of the Frobenius norm is far below the bound), but far too large for one element.
TEST(Checker, FindsOneWrongElementInTheLastTail) {
  Floats f;
  f.output[999] += 1e-4F;
  const CheckResult r = f.check();
  EXPECT_FALSE(r.ok);
  EXPECT_THAT(r.message, HasSubstr("output element 999 is"));
  EXPECT_THAT(r.message, HasSubstr("expected"));
  EXPECT_LT(r.rel_error, 1e-5);
}

TEST(Checker, FindsManySmallErrorsByTheirNorm) {
  Floats f;
  f.tolerances.assign(1000, 1e-2);
  for (float& x : f.output) x *= 1.0001F;
  const CheckResult r = f.check();
  EXPECT_FALSE(r.ok);
  EXPECT_THAT(r.message, HasSubstr("relative error of all 1000"));
}

TEST(Checker, NanIsWrongUnlessExpected) {
  Floats f;
  f.output[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(f.check().ok);
  f.values[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(f.check().ok);
  f.values[5] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(f.check().ok);
}

TEST(Checker, WithoutToleranceOnlyTheExactValueIsRight) {
  Floats f;
  f.tolerances[7] = 0;
  f.values[7] = f.output[7] = 0;
  EXPECT_TRUE(f.check().ok);
  f.output[7] = 1e-30F;
  EXPECT_FALSE(f.check().ok);
}

TEST(Checker, LooksAtTheSamplesOnly) {
  Floats f;
  f.samples = {999};
  f.values = {f.output[999]};
  f.tolerances = {1};
  f.output[0] = 1e9F;
  EXPECT_TRUE(f.check().ok);
}

TEST(Checker, IntegersAreExact) {
  const std::vector<int64_t> samples = {0, 1, 2}, values = {-5, 300, 1 << 30};
  std::vector<int32_t> output = {-5, 300, 1 << 30};
  std::vector<double> tolerances(3);
  const Expected e{.samples = samples, .values = {}, .int_values = values, .tolerances = tolerances};
  EXPECT_TRUE(check_output(output.data(), i32, e).ok);
  ++output[2];
  EXPECT_EQ(check_output(output.data(), i32, e).message, "output element 2 is 1073741825, expected 1073741824");
  tolerances[2] = 1;  // rounded from what is not exact
  EXPECT_TRUE(check_output(output.data(), i32, e).ok);
  ++output[2];
  EXPECT_EQ(check_output(output.data(), i32, e).message,
            "output element 2 is 1073741826, expected 1073741824 within 1");
}

TEST(Checker, IntegersBeyondWhatADoubleHoldsAreExact) {
  const std::vector<int64_t> samples = {0}, values = {(int64_t{1} << 60) + 1}, output = {int64_t{1} << 60};
  const std::vector<double> tolerances(1);
  EXPECT_FALSE(
      check_output(output.data(), i64, {.samples = samples, .int_values = values, .tolerances = tolerances}).ok);
}

TEST(Checker, WhatTheTypeCannotHoldIsInfinite) {
  Floats f;
  f.values[9] = 1e39;
  f.output[9] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(f.check().ok);
  f.values[9] = -1e39;
  EXPECT_FALSE(f.check().ok);
  f.values[9] = 1e38;
  EXPECT_FALSE(f.check().ok);
}

TEST(Checker, WhereAnyNumberMayBeInfinitiesMayToo) {
  Floats f;
  f.tolerances[9] = 1e300;
  for (const float got : {-3e38F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    f.output[9] = got;
    EXPECT_TRUE(f.check().ok) << got;
  }
  f.tolerances[9] = 1e90;
  EXPECT_FALSE(f.check().ok);
}

// f64's own numbers may be as large: such a bound is one.
TEST(Checker, ALargeBoundOfF64IsABound) {
  const std::vector<int64_t> samples = {0};
  const std::vector<double> values = {1e130}, tolerances = {1e115};
  const auto accepts = [&](double got) {
    return check_output(&got, f64, {.samples = samples, .values = values, .tolerances = tolerances}).ok;
  };
  EXPECT_TRUE(accepts(1e130 + 5e114));
  for (const double wrong : {0.0, 1.01e130, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(accepts(wrong)) << wrong;
}

TEST(Checker, FewErrorsSayNothingOnAverage) {
  const auto norm = [](size_t n) {
    const std::vector<double> ones(n, 1);
    return error_norm_of(ones, ones, ones);
  };
  EXPECT_EQ(norm(63), std::numeric_limits<double>::infinity());
  EXPECT_EQ(norm(64), 8);
}

// Values that are no number, or may be anything, say nothing about the exactness of the others.
TEST(Checker, TheNormIsOfNumbersWithABound) {
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values(66, 1), tolerances(66, 1), typical(66, 1);
  values[3] = typical[3] = tolerances[3] = kNan;
  tolerances[7] = typical[7] = kInf;
  EXPECT_EQ(error_norm_of(values, tolerances, typical), 8);
  Floats f;
  f.values[3] = kNan, f.output[3] = std::numeric_limits<float>::quiet_NaN(), f.tolerances[3] = kNan;
  f.tolerances[7] = kInf, f.output[7] += 100;
  EXPECT_TRUE(f.check().ok) << f.check().message;
  for (float& x : f.output) x *= 1.001F;
  EXPECT_FALSE(f.check().ok);
}

TEST(Checker, SeesWhatWasNeverWritten) {
  std::vector<float> output(8);
  poison(output.data(), f32, 8);
  EXPECT_TRUE(std::isnan(output[0]));
  for (int i = 0; i < 8; ++i) output[i] = i == 5 ? output[5] : 1;
  EXPECT_EQ(find_poison(output.data(), f32, 8), 5);
  output[5] = std::numeric_limits<float>::quiet_NaN();  // a NaN, but not ours
  EXPECT_EQ(find_poison(output.data(), f32, 8), -1);
  std::vector<int16_t> ints(4);
  poison(ints.data(), i16, 4, 0x5A);
  ints[0] = 0;
  EXPECT_EQ(find_poison(ints.data(), i16, 4, 0, 0x5A), 1);
  EXPECT_EQ(find_poison(ints.data(), i16, 4, 0, 0xA5), -1);
}

}  // namespace
}  // namespace hone
