// A session on the real SessionClient that commits all results at once and keeps and counts them; and timeouts for
// tests.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>

#include "rpc/wire/session_client.h"

namespace hone::wire {

inline constexpr auto kPatience = std::chrono::seconds(60);  // how long to wait for what must happen

/// Tries again soon.
inline ClientOptions dial(const Address& address, const Credentials& credentials = {}) {
  return {address,
          {.first = std::chrono::milliseconds(20), .most = std::chrono::milliseconds(200)},
          1,
          nullptr,
          credentials};
}

class TestSession {
 public:
  explicit TestSession(const Address& tracker, std::map<Hash128, std::string> blobs = {},
                       const Credentials& credentials = {})
      : blobs_(std::move(blobs)) {
    SessionOpen open;
    open.session = Uuid::random();
    open.title = "a test";
    open.target_kind = "llvm";
    SessionHandlers handlers;
    handlers.on_results = [this](std::vector<JobResult> results) {
      std::vector<uint64_t> seqs;
      std::lock_guard lock(mutex_);
      for (auto& result : results) {
        seqs.push_back(result.seq);
        ++counts_[result.seq];
        results_[result.seq] = std::move(result);
      }
      client_->ack(seqs);
      changed_.notify_all();
    };
    handlers.on_devices = [this](std::vector<DeviceInfo> devices) {
      std::lock_guard lock(mutex_);
      devices_ = std::move(devices);
      changed_.notify_all();
    };
    handlers.on_refused = [this](const std::string& reason, bool) {
      std::lock_guard lock(mutex_);
      refused_ = reason;
      changed_.notify_all();
    };
    handlers.blob = [this](Hash128 hash) -> std::optional<std::string> {
      std::lock_guard lock(mutex_);
      const auto it = blobs_.find(hash);
      if (it == blobs_.end()) return std::nullopt;
      return it->second;
    };
    client_ = std::make_unique<SessionClient>(dial(tracker, credentials), open, std::move(handlers));
  }

  void submit_fakes(uint64_t first, uint64_t count) {
    std::vector<Job> jobs;
    for (uint64_t seq = first; seq < first + count; ++seq) {
      Job job;
      job.seq = seq;
      job.fake = FakePayload{};
      jobs.push_back(job);
    }
    client_->submit(std::move(jobs));
  }

  /// Serves `bytes` from now on; their hash.
  Hash128 add_blob(std::string bytes) {
    const Hash128 hash = blob_id(bytes);
    std::lock_guard lock(mutex_);
    blobs_[hash] = std::move(bytes);
    return hash;
  }

  template <class Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, condition);
  }
  bool wait_results(size_t count) {
    return wait([&] { return counts_.size() >= count; });
  }
  bool wait_devices(size_t count) {
    return wait([&] { return devices_.size() == count; });
  }
  /// A copy: more may come.
  JobResult result(uint64_t seq) {
    std::lock_guard lock(mutex_);
    return results_[seq];
  }
  void expect_each_once(size_t count) {
    std::lock_guard lock(mutex_);
    EXPECT_EQ(counts_.size(), count);
    for (const auto& [seq, times] : counts_) EXPECT_EQ(times, 1) << seq;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, int> counts_;
  std::vector<DeviceInfo> devices_;
  std::map<uint64_t, JobResult> results_;  ///< the latest of each job
  std::string refused_;
  std::map<Hash128, std::string> blobs_;
  std::unique_ptr<SessionClient> client_;  // last: its handlers use all of the above until it is gone
};

}  // namespace hone::wire
