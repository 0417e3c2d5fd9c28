#include "rpc/wire/clock_difference.h"

#include <gmock/gmock.h>

namespace hone::wire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double kNow = 1'800'000'000, kYear = 365.25 * 86400;  // 2027

TEST(ClockReminder, TellsOfAClockThatIsAheadOrBehindOnce) {
  ClockReminder reminder;
  EXPECT_EQ(reminder.due(kNow + 30, kNow), "") << "messages take their time";
  const std::string line = reminder.due(kNow + 5 * kYear, kNow);
  EXPECT_THAT(line, AllOf(HasSubstr("this machine's clock is 5.0 years ahead of the tracker's"),
                          HasSubstr("2032-01-15 14:00:00 UTC here, 2027-01-15 08:00:00 UTC there"),
                          HasSubstr("dated in the future")));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(reminder.due(kNow + 5 * kYear, kNow), "") << "it connects again";
  EXPECT_EQ(reminder.due(kNow, kNow), "") << "it was set";
  EXPECT_THAT(reminder.due(kNow - 600, kNow),
              AllOf(HasSubstr("10 minutes behind the tracker's"), testing::Not(HasSubstr("future"))));
}

TEST(ClockReminder, ATrackerThatHasNoClockSaysNothing) {
  ClockReminder reminder;
  EXPECT_EQ(reminder.due(kNow, 0), "") << "an older one";
  EXPECT_EQ(reminder.due(kNow, 100), "") << "it began in 1970";
  EXPECT_NE(reminder.due(kNow, kNow - 3600), "");
}

}  // namespace
}  // namespace hone::wire
