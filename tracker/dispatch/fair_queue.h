// Decides whose job is next. Sessions share the devices by weight, in seconds of device time: a session's level is its
// recent use divided by its weight, and the session with the lowest level among those that the asking device serves is
// next. A job's cost is known only afterwards, so picking one charges the session's estimate and settle() corrects it.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "base/clock.h"
#include "tracker/state/job_key.h"
#include "tracker/state/options.h"

namespace hone::tracker {

/// Not thread-safe. Sessions come in groups: the sessions of a group are served by the same devices. Among sessions
/// with queued jobs the device seconds follow the weights, as far as the devices that serve them allow (weighted
/// max-min). A device that asks gets a job if any is eligible.
class FairQueue {
 public:
  enum class Place {
    kBack,   ///< a new job
    kFront,  ///< was leased before, and came back without anyone's fault
    kRetry,  ///< a device lost it: it goes first, but pick() asks whether the device may have it
  };
  struct Picked {
    JobKey job;
    double estimate = 0;  ///< device seconds charged; to be given to settle()
  };
  using JobOk = std::function<bool(const JobKey&)>;

  /// `clock` outlives the queue.
  explicit FairQueue(const Clock& clock, FairOptions options = {})
      : clock_(clock), options_(options), origin_(clock.now()) {}

  /// A session already there keeps its jobs and its use.
  void add_session(const wire::Uuid& session, uint32_t group, double weight, int32_t priority);
  /// Its queued jobs are removed, too.
  void remove_session(const wire::Uuid& session);
  /// The session must be there and the job not be queued.
  void push(const JobKey& job, Place place = Place::kBack);
  /// The lowest level among sessions of `groups` with queued jobs, absent ones aside; nothing when there is none.
  std::optional<double> lowest(std::span<const uint32_t> groups) const;
  /// The session's client is gone: its jobs are picked where no other session has any, and its level is no measure for
  /// others.
  void set_absent(const wire::Uuid& session, bool absent);
  /// A session without queued jobs is about to get some, while others are at `level` or above: it keeps only the credit
  /// from the share that it did not use.
  void rise(const wire::Uuid& session, double level);
  /// The session lost devices, and its rivals on the remaining ones are at `level`: its use above that is forgiven.
  void sink(const wire::Uuid& session, double level);
  /// False when it is not queued.
  bool erase(const JobKey& job);
  /// Takes the next job for a device that serves `groups`. `slowness`: how long jobs take there, relative to others.
  std::optional<Picked> pick(std::span<const uint32_t> groups, double slowness, const JobOk& job_ok);
  /// A job picked at `charged` took `seconds` of device time. With `learn`, later estimates follow it. Returns how slow
  /// the device was, relative to the estimate of the session's jobs; nothing when that is not known.
  std::optional<double> settle(const wire::Uuid& session, double estimate, Clock::TimePoint charged, double seconds,
                               double slowness, bool learn);

  size_t size() const { return queued_.size(); }
  size_t size(const wire::Uuid& session) const;
  /// The number of queued jobs of a group; and of those that a device lost.
  size_t size(uint32_t group) const;
  size_t retries(uint32_t group) const;
  /// Device seconds that the session used lately.
  double used(const wire::Uuid& session) const;

 private:
  static constexpr int64_t kAbsent = INT64_MIN;  // below all priorities
  struct Account {
    wire::Uuid session;
    uint64_t id = 0;  // breaks ties: first come, first served
    uint32_t group = 0;
    double weight = 1;
    int32_t priority = 0;
    bool absent = false;
    double level = 0;      // sum of device seconds / weight, each times scale() of its moment
    double estimate = -1;  // of one job on a device of slowness 1; below zero: none finished yet
    std::list<uint64_t> jobs, retries;
    bool queued() const { return !jobs.empty() || !retries.empty(); }
    int64_t rank() const { return absent ? kAbsent : priority; }
  };
  struct ByLevel {
    bool operator()(const Account* a, const Account* b) const {
      return a->level != b->level ? a->level < b->level : a->id < b->id;
    }
  };
  using Tier = std::set<Account*, ByLevel>;  // of those with queued jobs
  struct Group {
    std::map<int64_t, Tier, std::greater<>> tiers;  // by rank; none is empty
    size_t jobs = 0, retries = 0;
  };
  struct Candidate {
    Account* account = nullptr;
    std::list<uint64_t>* list = nullptr;
    std::list<uint64_t>::iterator job;
    double estimate = 0;
  };
  struct Where {
    bool retry = false;
    std::list<uint64_t>::iterator at;
  };

  double scale(Clock::TimePoint then) const;
  void rebase();
  Account* find(const wire::Uuid& session);
  const Account* find(const wire::Uuid& session) const;
  void seat(Account& account);
  void unseat(Account& account);
  void change_level(Account& account, double level);
  void take(Account& account, const Where& where);
  std::optional<Candidate> best_of(std::span<const uint32_t> groups, int64_t rank, const JobOk& job_ok) const;
  std::optional<int64_t> next_rank(std::span<const uint32_t> groups, std::optional<int64_t> below) const;
  const Candidate& choose(const std::vector<Candidate>& by_priority);

  const Clock& clock_;
  const FairOptions options_;
  Clock::TimePoint origin_;  // scale() is 1 there
  uint64_t next_id_ = 1;
  std::unordered_map<wire::Uuid, Account> accounts_;
  std::unordered_map<uint32_t, Group> groups_;
  std::unordered_map<JobKey, Where> queued_;
  std::map<int32_t, double> owed_;  // device seconds to lower priorities, by the priority that was served before them
  // Mean cost of all jobs so far: the estimate for a session without one; at first a guess, so that turns change.
  double mean_ = 0.1;
};

}  // namespace hone::tracker
