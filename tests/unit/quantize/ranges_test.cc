// Ranges of values: how they are found, kept in files, and covered by bytes.
#include "compiler/quantize/ranges.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "base/check.h"
#include "compiler/quantize/histogram.h"

namespace hone {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_ranges(text, "r.json");
  } catch (const UserError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Ranges, FilesAreReadAsTheyWereWritten) {
  const Ranges ranges{{"a", {-1.25, 3.5}}, {"b \"quoted\"", {0, 1e-30}}, {"c", {-2, -1}}};
  EXPECT_EQ(parse_ranges(ranges_text(ranges), "r.json"), ranges);
}

TEST(Ranges, OtherFilesAreRefused) {
  EXPECT_EQ(refusal("{\"values\": {}}"), "r.json: this is no file of ranges; it is what --ranges writes");
  for (const char* text :
       {"", "[", "[]", "{\"hone_ranges\": 2, \"values\": {}}", "{\"hone_ranges\": 1, \"values\": 3}"})
    EXPECT_THAT(refusal(text), testing::HasSubstr("no file of ranges")) << text;
  EXPECT_EQ(refusal("{\"hone_ranges\": 1, \"values\": {\"v\": [1]}}"),
            "r.json: 'v' has no two numbers; it is what --ranges writes");
  EXPECT_EQ(refusal("{\"hone_ranges\": 1, \"values\": {\"v\": [2, 1]}}"),
            "r.json: 'v' has no range: 2 to 1; it is what --ranges writes");
  EXPECT_THAT(refusal("{\"hone_ranges\": 1, \"values\": {\"v\": [0, 1e999]}}"), testing::HasSubstr("r.json: "));
}

TEST(ByteScale, CoverTheRangeAndZeroExactly) {
  EXPECT_EQ(scale_over({0, 255}).scale, 1);
  EXPECT_EQ(scale_over({0, 255}).zero, 0);
  EXPECT_EQ(scale_over({-1, 0}).zero, 255);
  EXPECT_EQ(scale_over({3, 5.1}).zero, 0) << "down to zero";
  EXPECT_FLOAT_EQ(static_cast<float>(scale_over({3, 5.1}).scale), 0.02F);
  const ByteScale both = scale_over({-1, 3});
  EXPECT_EQ(both.zero, 64);
  EXPECT_GE((255 - static_cast<double>(both.zero)) * both.scale, 3 - both.scale);
  EXPECT_EQ(scale_over({0, 0}).scale, 1);
  EXPECT_EQ(scale_over({0, 1e-45}).scale, 1) << "no step that f32 holds";
}

TEST(Histogram, AllOfItOrAllButTheEnds) {
  Histogram h;
  std::vector<double> values(100'000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 1000) / 1000;
  values[7] = -50, values[8] = 40;
  for (size_t part = 0; part < values.size(); part += 1000) h.add({values.data() + part, 1000});
  EXPECT_EQ(h.count(), 100'000);
  EXPECT_EQ(h.range(RangeMethod::kMinMax), (Range{-50, 40}));
  const Range most = h.range(RangeMethod::kPercentile);
  // Bins are 128 / 4096 wide.
  EXPECT_NEAR(most.least, 0, 0.04);
  EXPECT_NEAR(most.most, 1, 0.04);
}

TEST(Histogram, EntropyLeavesOutWhatIsRare) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  Histogram h;
  std::vector<double> values(50'000);
  for (double& v : values) v = normal(random);
  values[0] = 100;
  h.add(values);
  const Range r = h.range(RangeMethod::kEntropy);
  EXPECT_LT(r.most, 30);
  EXPECT_GT(r.most, 2);
  // With few values that fill their range, none is left out.
  Histogram even;
  for (int i = 0; i < 1000; ++i)
    for (int v = 0; v < 256; ++v) even.add(std::vector<double>{v / 255.0});
  EXPECT_GT(even.range(RangeMethod::kEntropy).most, 0.95);
}

TEST(Histogram, ZerosAloneAndNumbersThatAreNone) {
  Histogram h;
  h.add(std::vector<double>{0, 0, 0});
  for (const RangeMethod m : {RangeMethod::kMinMax, RangeMethod::kPercentile, RangeMethod::kEntropy})
    EXPECT_EQ(h.range(m), (Range{0, 0}));
  h.add(std::vector<double>{0, 2});
  EXPECT_EQ(h.range(RangeMethod::kMinMax), (Range{0, 2}));
  EXPECT_THROW(h.add(std::vector<double>{NAN}), UserError);
  EXPECT_THROW(h.add(std::vector<double>{INFINITY}), UserError);
  EXPECT_THROW(range_method("median"), UserError);
}

}  // namespace
}  // namespace hone
