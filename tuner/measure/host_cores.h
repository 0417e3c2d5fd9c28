// Shares this host's cores with the runners that time on it, through the host lock.
#pragma once

#include <optional>

#include "base/clock.h"
#include "base/host_lock.h"
#include "tuner/measure/core_sharing.h"

namespace hone {

/// Holds the lock shared, in slices of at most some 4 ms. Without a lock file it holds nothing.
class HostCores final : public CoreSharing {
 public:
  explicit HostCores(const Clock& clock);
  void begin() override;
  void end() override;

 protected:
  void give_way() override;

 private:
  const Clock& clock_;
  std::optional<HostLock> lock_;
  HostLock::Hold hold_;
  Clock::TimePoint since_{};
};

}  // namespace hone
