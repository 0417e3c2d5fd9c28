// A tuning session as the tracker knows it, and its jobs. Plain records: each field says who changes it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "rpc/wire/messages/fleet_status.h"
#include "tracker/state/connection_id.h"
#include "tracker/state/history.h"
#include "tracker/state/job_key.h"
#include "tracker/state/memory_budget.h"
#include "tracker/state/summary_ring.h"

namespace hone::tracker {

struct Demand;

enum class JobState {
  kWaiting,  ///< for modules: its session has been asked, or will be when it connects
  kQueued,
  kLeased,
  kDone,
};

/// A reference that several jobs of a session have in common.
struct SharedReference {
  wire::Reference reference;
  MemoryBudget::Charge charge;
};

struct JobRecord {
  /// Without its reference, which may hold many samples and is the same in most jobs of a session.
  wire::Job job;
  std::shared_ptr<const SharedReference> reference;
  MemoryBudget::Charge charge;  ///< for itself and its result
  size_t awaits = 0;            ///< modules that it waits for; kept by Modules, as is the next
  bool was_ready = false;       ///< each of its modules has been here
  double budget_s = 0;          ///< how long a device may work on it
  JobState state = JobState::kQueued;
  Clock::TimePoint submitted{};
  double queue_s = 0;  ///< submission to the latest lease
  uint32_t attempts = 0;
  bool was_bystander = false;      ///< lost once with a device that was at another job; the next time it counts
  std::vector<std::string> tried;  ///< devices that lost it
  Clock::TimePoint lost_at{};      ///< by the last of them
  std::optional<wire::JobResult> result;
  std::optional<wire::LeaseId> answered;  ///< the lease the result came under, and
  std::string answered_by;                ///< the agent that keeps it until the session has committed
};

struct Session {
  wire::SessionOpen spec;
  std::string id;      ///< its name for people
  std::string tenant;  ///< whose it is
  std::string host;    ///< that its tuner dialled from last
  std::shared_ptr<MemoryBudget::Account> account;
  MemoryBudget::Charge charge;
  Demand* demand = nullptr;                                        ///< kept by JobQueue
  std::vector<std::shared_ptr<const SharedReference>> references;  ///< the latest different ones
  /// Modules it is asked for, and its jobs that wait for them; kept by Modules, as are the next two.
  std::unordered_map<Hash128, std::vector<uint64_t>> awaited;
  uint64_t waiting = 0;  ///< jobs in that state
  bool silent = false;   ///< an agent waited for one of its modules in vain; until it sends any
  std::optional<ConnectionId> connection;
  Clock::TimePoint gone_at{};
  std::map<uint64_t, JobRecord> jobs;
  uint64_t leased = 0, done = 0;
  uint64_t ok = 0;        ///< jobs whose answer was ok
  uint64_t poisoned = 0;  ///< jobs given up because several devices lost them
  double device_seconds = 0;
  Clock::TimePoint opened{};
  wire::Summary summary;
  SummaryRing curve;
  EventRing events;
};

inline JobKey key_of(const Session& session, const JobRecord& record) { return {session.spec.session, record.job.seq}; }

}  // namespace hone::tracker
