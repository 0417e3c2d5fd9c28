#include "tuner/measure/host_cores.h"

#include "base/log.h"

namespace hone {
namespace {

// A timed region waits at most this long, plus the lowering of one candidate, while all other cores stand still. The
// search is batches ahead of the device and loses nothing by short slices.
constexpr std::chrono::milliseconds kSlice{4};

}  // namespace

HostCores::HostCores(const Clock& clock) : clock_(clock) {
  auto lock = HostLock::open();
  if (lock.ok()) {
    lock_.emplace(*std::move(lock));
  } else {
    log::warn("{}; timed runs may be disturbed by the search", message_of(lock.status()));
  }
}

void HostCores::begin() {
  if (!lock_) return;
  hold_ = lock_->shared();
  since_ = clock_.now();
}

void HostCores::end() { hold_ = {}; }

void HostCores::give_way() {
  if (!hold_.held() || clock_.now() - since_ < kSlice) return;
  hold_ = {};
  begin();
}

}  // namespace hone
