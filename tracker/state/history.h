// The history of a device since the tracker started: a bounded ring of buckets of time that grow coarser, and its last
// events. Small until there is something to remember: a tracker may have ten thousand devices.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "rpc/wire/messages/messages.h"

namespace hone::tracker {

/// Something worth telling people about a device or a session.
struct Event {
  Clock::TimePoint at{};
  std::string what;  ///< one line
};

/// The last hundred events.
class EventRing {
 public:
  static constexpr size_t kMost = 100;
  void add(Clock::TimePoint at, std::string what);
  const std::vector<Event>& events() const { return events_; }  ///< newest last

 private:
  std::vector<Event> events_;
};

class DeviceHistory {
 public:
  static constexpr uint32_t kMost = 360;     ///< buckets of the whole time
  static constexpr double kFirstWidth = 10;  ///< seconds of a bucket; doubles whenever the time does not fit any more

  struct Bucket {
    uint32_t index = 0;  ///< it begins at index * width
    uint32_t done = 0, failed = 0;
    float busy_s = 0;
    float sentinel_seconds = 0;                            ///< the last; 0: none
    float temperature_c = kUnknown, clock_mhz = kUnknown;  ///< the last
  };
  static constexpr float kUnknown = -1e9F;

  // `t` is in seconds since the tracker started, and does not go back.
  void answered(double t, bool ok, double sentinel_seconds);
  void busy(double t, double seconds);
  void readings(double t, const wire::DeviceHealth& health);

  const std::vector<Bucket>& buckets() const { return buckets_; }  ///< those in which something happened
  double width() const { return width_; }

 private:
  Bucket& at(double t);

  double width_ = kFirstWidth;
  std::vector<Bucket> buckets_;
};

/// Jobs and busy seconds of about the last minute.
class LastMinute {
 public:
  void add(double t, uint32_t jobs, double busy_s);
  struct Rate {
    double jobs_per_minute = 0;
    double utilization = 0;  ///< 0 to 1
  };
  /// `since`: when counting began; a time shorter than a minute is taken as it is.
  Rate rate(double t, double since) const;

 private:
  static constexpr double kSlot = 10;
  static constexpr int64_t kSlots = 6;
  struct Slot {
    int64_t index = -1;
    uint32_t jobs = 0;
    float busy_s = 0;
  };
  std::array<Slot, kSlots> slots_{};
};

}  // namespace hone::tracker
