// Whose job is next: deficit round robin over the sessions, in seconds of device time. A job's cost is known only afterwards, so
// picking one debits the session's estimate and settle() corrects it.
#pragma once

#include <functional>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tracker/job_key.h"

namespace hone::tracker {

/// Not thread-safe. Sessions of a higher priority go before all others; among equals, device seconds follow the weights. A session
/// without queued jobs saves nothing up. Whoever asks gets a job if any is eligible.
class FairQueue {
 public:
  struct Picked {
    JobKey job;
    double estimate = 0;  ///< device seconds debited; to be given to settle()
  };

  explicit FairQueue(double quantum_s) : quantum_(quantum_s) {}

  /// A session already there keeps its jobs and its account.
  void add_session(const wire::Uuid& session, double weight, int32_t priority);
  /// With its queued jobs.
  void remove_session(const wire::Uuid& session);
  /// The session must be there and the job not be queued. At the front go jobs that were leased before.
  void push(const JobKey& job, bool at_front = false);
  /// False when it is not queued.
  bool erase(const JobKey& job);
  /// Takes the next job for a device: `session_ok` says which sessions the device serves, `job_ok` which of their jobs.
  std::optional<Picked> pick(const std::function<bool(const wire::Uuid&)>& session_ok, const std::function<bool(const JobKey&)>& job_ok);
  /// True when pick() would find something.
  bool has(const std::function<bool(const wire::Uuid&)>& session_ok, const std::function<bool(const JobKey&)>& job_ok) const;
  /// A picked job took `seconds` of device time. With `learn`, later estimates follow it.
  void settle(const wire::Uuid& session, double estimate, double seconds, bool learn);

  size_t size() const { return queued_.size(); }
  size_t size(const wire::Uuid& session) const;

 private:
  struct Account {
    wire::Uuid session;
    double weight = 1;
    int32_t priority = 0;
    double deficit = 0;    // device seconds it may still use this round; below zero: debts
    double estimate = -1;  // of one job; below zero: none finished yet
    std::list<uint64_t> jobs;
  };
  using Found = std::optional<std::list<uint64_t>::const_iterator>;

  Account* find(const wire::Uuid& session);
  static Found first_ok(const Account& account, const std::function<bool(const JobKey&)>& job_ok);

  const double quantum_;
  std::list<Account> accounts_;  // in round-robin order: the one being served first
  std::unordered_map<wire::Uuid, std::list<Account>::iterator> by_session_;
  std::unordered_map<JobKey, std::list<uint64_t>::iterator> queued_;
  double mean_ = 0;  // of all jobs so far: the estimate for a session without one
};

}  // namespace hone::tracker
