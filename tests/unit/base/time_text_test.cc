#include "base/time_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace hone {
namespace {

TEST(MsText, HasThreeSignificantDigits) {
  const std::pair<double, const char*> cases[] = {
      {4.123e-10, "0.000000412"}, {4.12e-7, "0.000412"}, {1.2345e-5, "0.0123"}, {1e-4, "0.100"},   {1.2345e-3, "1.23"},
      {0.010051, "10.1"},         {0.1234, "123"},       {1.2344, "1234"},      {-1.5e-3, "-1.50"}};
  for (const auto& [seconds, text] : cases) EXPECT_EQ(ms_text(seconds), text) << seconds;
}

TEST(MsText, CountsTheDigitsOfWhatIsPrinted) {
  EXPECT_EQ(ms_text(9.996e-3), "10.0");
  EXPECT_EQ(ms_text(0.09996), "100");
  EXPECT_EQ(ms_text(9.996e-7), "0.00100");
}

TEST(MsText, OfNoTimeIsText) {
  EXPECT_EQ(ms_text(0), "0");
  EXPECT_EQ(ms_text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_NE(ms_text(std::numeric_limits<double>::denorm_min()), "");
}

}  // namespace
}  // namespace hone
