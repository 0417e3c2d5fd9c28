// Whether a device can be trusted: leases it lost, jobs it failed that others managed, how fast it is compared with its
// own quiet level, and how it came out of its quarantines. Decides nothing by itself; the tracker asks and acts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tracker/state/job_key.h"

namespace hone::tracker {

/// Part of a Device. Times come from the caller.
class Health {
 public:
  /// Thresholds between health, quarantine and probation; see TrackerOptions.
  struct Limits {
    uint32_t strikes = 3;  ///< leases lost in a row
    /// Failed jobs in a row, while half as many of the same session succeed elsewhere.
    uint32_t failures = 16;
    /// In quarantine; it doubles with each relapse.
    std::chrono::milliseconds first_wait{30'000}, most_wait{3'600'000};
    uint32_t good = 5;  ///< answers that end a probation
    uint32_t bad = 2;   ///< failures in a row that send it back; a lost lease does at once
  };

  // --- leases lost, in a row
  /// The device lost a lease while it was at `job`.
  void strike(const JobKey& job);
  /// `job` kills other devices too: it is not this one's fault. False when there was no strike for it.
  bool withdraw_strike(const JobKey& job);
  size_t strikes() const { return strikes_.size(); }

  // --- answers
  /// An answer of any kind: the device is alive.
  void answered() { strikes_.clear(); }
  /// The job was done, or says nothing against the device.
  void went_well();
  /// A job of `session` failed; `session_ok`: how many of the session's jobs went well so far, anywhere. True when so
  /// many failed in a row here and went well elsewhere that the device is at fault.
  bool failed(const wire::Uuid& session, uint64_t session_ok, const Limits& limits);
  uint32_t failures() const { return failures_; }
  /// Strikes and failures in a row are forgotten.
  void start_afresh();

  // --- speed
  /// A reading of the sentinel, in seconds. True when slow() has changed by it.
  bool sentinel(double seconds);
  /// For the last eight readings it took more than 1.25 times its quiet level, and has not recovered.
  bool slow() const { return slow_; }
  double sentinel_seconds() const { return sentinel_; }
  double quiet_seconds() const { return quiet_; }

  // --- quarantine by the tracker
  /// Another one begins.
  void quarantined(Clock::TimePoint now, const Limits& limits);
  /// The last one was a mistake.
  void take_quarantine_back() { quarantines_ -= quarantines_ > 0; }
  /// The device was quarantined, and may be tried again from now on.
  bool may_be_tried(Clock::TimePoint now) const { return now >= wait_until_; }
  Clock::TimePoint wait_until() const { return wait_until_; }
  /// Its answers count anew.
  void begin_probation();
  enum class Probation { kGoesOn, kPassed, kFailed };
  Probation answered_on_probation(bool good, const Limits& limits);
  uint32_t good_on_probation() const { return probation_good_; }
  /// An administrator declared it well.
  void forgive();

 private:
  std::vector<JobKey> strikes_;
  uint32_t failures_ = 0;
  wire::Uuid failing_session_;
  uint64_t others_ok_ = 0;  // session_ok when the run of failures began
  double sentinel_ = 0, quiet_ = 0;
  int slow_run_ = 0;
  bool slow_ = false;
  uint32_t quarantines_ = 0;  // without a long good time between them
  uint32_t good_since_ = 0;
  Clock::TimePoint wait_until_{};
  uint32_t probation_good_ = 0, probation_bad_ = 0;
};

}  // namespace hone::tracker
