// An agent on the real AgentClient that answers fake jobs itself, at once or when told to.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "rpc/wire/agent_client.h"

namespace hone::wire {

class FakeAgent {
 public:
  FakeAgent(const Address& tracker, const std::string& name, uint32_t slots, bool hold = false,
            const Credentials& credentials = {})
      : device_(name + "/cpu"), hold_(hold) {
    AgentIdentity identity;
    identity.name = name;
    DeviceInfo info;
    info.key = device_;
    info.target = "llvm -mcpu=test";
    identity.devices = {info};
    AgentHandlers handlers;
    handlers.on_leases = [this](std::vector<Lease> leases) { take(std::move(leases)); };
    handlers.on_cancel = [this](const std::vector<LeaseId>& ids) {
      std::lock_guard lock(mutex_);
      cancelled_ += ids.size();
      for (const LeaseId& id : ids) std::erase_if(held_, [&](const Lease& lease) { return lease.id == id; });
    };
    handlers.on_refused = [this](const std::string& reason, bool retry) {
      std::lock_guard lock(mutex_);
      refused_ = reason;
      gave_up_ = !retry;
    };
    handlers.on_unreachable = [this](const std::string& why) {
      std::lock_guard lock(mutex_);
      unreachable_.push_back(why);
    };
    ClientOptions options{tracker,
                          {.first = std::chrono::milliseconds(20), .most = std::chrono::milliseconds(200)},
                          1,
                          nullptr,
                          credentials,
                          std::chrono::milliseconds(500),
                          std::chrono::milliseconds(10)};
    client_ = std::make_unique<AgentClient>(options, std::move(identity), std::move(handlers));
    client_->want(device_, slots);
  }

  /// Answers the held leases, and from now on each at once.
  void release() {
    std::vector<Lease> held;
    {
      std::lock_guard lock(mutex_);
      hold_ = false;
      held.swap(held_);
    }
    for (const Lease& lease : held) answer(lease);
  }
  size_t held() const {
    std::lock_guard lock(mutex_);
    return held_.size();
  }
  size_t taken() const {
    std::lock_guard lock(mutex_);
    return taken_;
  }
  size_t cancelled() const {
    std::lock_guard lock(mutex_);
    return cancelled_;
  }
  /// The tracker's last refusal; empty: none.
  std::string refused() const {
    std::lock_guard lock(mutex_);
    return refused_;
  }
  bool gave_up() const {
    std::lock_guard lock(mutex_);
    return gave_up_;
  }
  /// How often it was told that the tracker cannot be reached for this reason.
  size_t unreachable(const std::string& why) const {
    std::lock_guard lock(mutex_);
    return static_cast<size_t>(std::count(unreachable_.begin(), unreachable_.end(), why));
  }
  AgentClient& client() { return *client_; }

 private:
  void take(std::vector<Lease> leases) {
    std::vector<Lease> now;
    {
      std::lock_guard lock(mutex_);
      taken_ += leases.size();
      (hold_ ? held_ : now).insert((hold_ ? held_ : now).end(), leases.begin(), leases.end());
    }
    for (const Lease& lease : now) answer(lease);
  }

  void answer(const Lease& lease) {
    CandidateResult candidate;
    candidate.status = lease.job.fake ? lease.job.fake->status : ResultStatus::kRejected;
    if (candidate.status == ResultStatus::kOk) candidate.times = {1e-3};
    JobResult result;
    result.candidates.assign(lease.job.candidates(), candidate);
    result.phases.run = lease.job.fake ? lease.job.fake->run_seconds : 0;
    client_->result(lease.id, std::move(result));
    client_->want(device_, 1);
  }

  const std::string device_;
  mutable std::mutex mutex_;
  bool hold_;
  size_t taken_ = 0, cancelled_ = 0;
  std::string refused_;
  bool gave_up_ = false;
  std::vector<std::string> unreachable_;
  std::vector<Lease> held_;
  std::unique_ptr<AgentClient> client_;  // last: its handlers use all of the above until it is gone
};

}  // namespace hone::wire
