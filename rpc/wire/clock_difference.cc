#include "rpc/wire/clock_difference.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <mutex>

#include "base/log.h"
#include "rpc/wire/access/certificate_dates.h"

namespace hone::wire {
namespace {

constexpr double kNeverSet =
    1'577'836'800;  // 2020: a machine without a clock begins in 1970, or when its system was made

std::string duration_text(double seconds) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 86400, kYear = 365.25 * kDay;
  if (seconds < 2 * kHour) return fmt::format("{:.0f} minutes", seconds / kMinute);
  if (seconds < 2 * kDay) return fmt::format("{:.0f} hours", seconds / kHour);
  if (seconds < 2 * kYear) return fmt::format("{:.0f} days", seconds / kDay);
  return fmt::format("{:.1f} years", seconds / kYear);
}

}  // namespace

std::string ClockReminder::due(double own, double tracker) {
  if (!(tracker >= kNeverSet)) return "";
  const double ahead = own - tracker;
  if (std::abs(ahead) <= kSlack) told_ = false;
  if (std::abs(ahead) <= kSlack || told_) return "";
  told_ = true;
  return fmt::format("this machine's clock is {} {} the tracker's: {} here, {} there; set the one that is wrong{}",
                     duration_text(std::abs(ahead)), ahead > 0 ? "ahead of" : "behind",
                     date_text(static_cast<UnixSeconds>(own)), date_text(static_cast<UnixSeconds>(tracker)),
                     ahead > 0 ? ", or what is stored here is dated in the future" : "");
}

void compare_clocks(double tracker) {
  static std::mutex mutex;
  static ClockReminder reminder;
  const double own = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::lock_guard lock(mutex);
  if (const std::string line = reminder.due(own, tracker); !line.empty()) log::warn("{}", line);
}

}  // namespace hone::wire
