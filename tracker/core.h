// The tracker itself: messages of agents and sessions in, messages to them out. No gRPC, no threads, no clock of its
// own.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "rpc/wire/fleet_status.h"
#include "rpc/wire/stream_messages.h"
#include "tracker/blob_store.h"
#include "tracker/details.h"
#include "tracker/device_registry.h"
#include "tracker/fair_queue.h"
#include "tracker/lease_table.h"
#include "tracker/matching.h"
#include "tracker/memory_budget.h"
#include "tracker/options.h"
#include "tracker/summary_ring.h"
#include "tracker/tenant.h"

namespace hone::tracker {

/// Where messages go. After a Refused the connection is over: nothing more is sent to it, and what it still says is
/// ignored.
class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void to_agent(ConnectionId connection, wire::ToAgent message) = 0;
  virtual void to_session(ConnectionId connection, wire::ToSession message) = 0;
};

/// Figures for /metrics that the status does not hold.
struct TrackerCounts {
  /// Upper bounds, in seconds, of the histograms' buckets; one more bucket follows for what is larger.
  static constexpr std::array<double, 12> kLatencyBounds = {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300};
  struct Histogram {
    std::array<uint64_t, kLatencyBounds.size() + 1> counts{};
    double sum = 0;
    void add(double seconds);
  };
  Histogram latency;                   ///< submission to lease
  std::array<uint64_t, 11> results{};  ///< candidates by ResultStatus
  uint64_t leases = 0;                 ///< granted
  uint64_t expired = 0;                ///< lost by deadline
  uint64_t requeued = 0;               ///< jobs that went back into the queue
  uint64_t stale = 0;                  ///< results dropped: old epoch, cancelled, sent twice
  uint64_t adopted = 0;                ///< leases and results taken over from an earlier run
  uint64_t taken_back = 0;             ///< leases asked back from slow devices
  uint64_t refused = 0;                ///< connections refused
  uint64_t poisoned = 0;               ///< jobs given up because several devices lost them
  uint64_t quarantines = 0;            ///< of devices, by the tracker
  /// The other phases of answered jobs, in seconds: transfer, build, check, run, reference. Queue is the latency above.
  static constexpr std::array<const char*, 5> kPhases = {"transfer", "build", "check", "run", "reference"};
  std::array<Histogram, kPhases.size()> phases;
  size_t blob_bytes = 0, blobs = 0, unfinished_leases = 0;
  size_t memory_used = 0, memory_most = 0;  ///< bytes taken from the memory budget, and its size
  /// Peers turned away, by reason; this and what follows is filled in by the server.
  std::map<std::string, uint64_t> rejected = {};
  size_t connections = 0;                                ///< on the port of agents and sessions
  uint64_t cut = 0;                                      ///< streams that ended without a goodbye
  std::map<std::string, int64_t> certificate_ends = {};  ///< seconds since 1970, by what holds it: server, client_ca
};

/// Not thread-safe: the service calls it under one lock. Connection ids are the caller's and never used twice.
class Tracker {
 public:
  /// `clock` and `outbox` outlive the tracker.
  Tracker(TrackerOptions options, const Clock& clock, Outbox& outbox);

  /// What the peer of a connection says; the first message makes it an agent or a session. What does not fit is
  /// answered by Refused. `tenant`: whose connection it is; a session belongs to the tenant that opened it first, and
  /// to nobody else while it is known. `…_gone`: the connection is over; one that nothing was heard of is no error.
  void agent_message(ConnectionId connection, wire::FromAgent message, const Tenant& tenant = {});
  void agent_gone(ConnectionId connection);
  void session_message(ConnectionId connection, wire::FromSession message, const Tenant& tenant = {});
  void session_gone(ConnectionId connection);
  /// What passing time brings: lost leases, ended graces, leases taken back. A few times a second.
  void tick();

  /// With `uuids` those of the sessions are told, which is for administrators; their ids always are.
  wire::FleetStatus status(bool uuids = false) const;
  TrackerCounts counts() const;
  /// All about one device or session (its id); nothing when there is none of that name.
  std::optional<DeviceDetail> device_detail(const std::string& key) const;
  std::optional<SessionDetail> session_detail(const std::string& id, bool uuids = false) const;
  /// `drain`, `resume` or `quarantine` a device or an agent, `cancel` a session (its id or uuid); one line for people.
  StatusOr<std::string> admin(const std::string& action, const std::string& name);
  /// What all that peers are sent and send is charged to.
  MemoryBudget& memory() { return memory_; }

 private:
  enum class JobState {
    kWaiting,  // for modules: its session has been asked, or will be when it connects
    kQueued,
    kLeased,
    kDone,
  };
  struct SharedReference {
    wire::Reference reference;
    MemoryBudget::Charge charge;
  };
  struct JobRecord {
    // Without its reference, which may hold many samples and is the same in most jobs of a session.
    wire::Job job;
    std::shared_ptr<const SharedReference> reference;
    MemoryBudget::Charge charge;  // for itself and its result
    size_t awaits = 0;            // modules that it waits for
    bool was_ready = false;       // each of its modules has been here
    double budget_s = 0;          // how long a device may work on it
    JobState state = JobState::kQueued;
    Clock::TimePoint submitted{};
    double queue_s = 0;  // submission to the latest lease
    uint32_t attempts = 0;
    bool was_bystander = false;      // lost once with a device that was at another job; the next time it counts
    std::vector<std::string> tried;  // devices that lost it
    Clock::TimePoint lost_at{};      // by the last of them
    std::optional<wire::JobResult> result;
    std::optional<wire::LeaseId> answered;  // the lease the result came under, and
    std::string answered_by;                // the agent that keeps it until the session has committed
  };
  struct Session {
    wire::SessionOpen spec;
    std::string id;      // what people call it
    std::string tenant;  // whose it is
    std::shared_ptr<MemoryBudget::Account> account;
    MemoryBudget::Charge charge;
    Demand* demand = nullptr;
    std::vector<std::shared_ptr<const SharedReference>> references;  // the latest different ones
    // Modules it is asked for, and its jobs that wait for them.
    std::unordered_map<Hash128, std::vector<uint64_t>> awaited;
    uint64_t waiting = 0;  // jobs in that state
    bool silent = false;   // an agent waited for one of its modules in vain; until it sends any
    std::optional<ConnectionId> connection;
    Clock::TimePoint gone_at{};
    std::map<uint64_t, JobRecord> jobs;
    uint64_t leased = 0, done = 0;
    uint64_t ok = 0;  // answers that were
    uint64_t poisoned = 0;
    double device_seconds = 0;
    Clock::TimePoint opened{};
    wire::Summary summary;
    SummaryRing curve;
    EventRing events;
  };
  // A module that agents wait for.
  struct PendingBlob {
    std::set<ConnectionId> waiters;
    std::set<wire::Uuid> asked;    // sessions that may send it
    std::set<wire::Uuid> lacking;  // sessions that were asked and do not have it
    Clock::TimePoint deadline;
  };

  // core_agent.cc
  void on(ConnectionId, wire::AgentHello&, const Tenant&);
  void on(ConnectionId, Agent*, wire::Want&);
  void on(ConnectionId, Agent*, wire::Heartbeat&);
  void on(ConnectionId, Agent*, wire::AgentResults&);
  void on(ConnectionId, Agent*, wire::GiveBack&);
  bool admit(ConnectionId, const wire::AgentHello&);
  void drop_unheld(const wire::AgentHello&, bool restarted);
  bool keep_held(const wire::AgentHello&, const wire::LeaseId&, const std::string& device);
  bool take_result(const Agent&, const wire::LeaseId&, wire::JobResult&);
  void count_phases(const wire::PhaseTimes&);
  void refuse_agent(ConnectionId, std::string reason, bool retry);

  // core_blobs.cc
  void on(ConnectionId, Agent*, wire::BlobRequest&);
  void on(ConnectionId, Session*, wire::Blobs&);
  void ask(Session&, const Hash128&);
  void ask_again(Session&);
  void send_asked();
  bool modules_are_here(const JobRecord&) const;
  bool may_be_leased(const Session&, const JobRecord&) const;
  void wait_for_modules(Session&, JobRecord&);
  void stop_waiting(Session&, JobRecord&);
  void module_came(Session&, const Hash128&);
  void module_lacks(Session&, const Hash128&);
  void no_answer_from(Session&);
  void give_up(const Hash128&);
  void withdraw_leases(const Agent&, const Hash128&, const PendingBlob&);
  void expire_blobs();

  // core_devices.cc
  void lease_added(Device&);
  void lease_removed(Device&);
  void count_busy(Device&);
  void refresh(Device&);
  void show(const Device&);
  void hide(const Device&);
  void show_all(Demand&);
  void forgive(const Pool&);
  void ask_all_back(const Device&);
  bool present(const Device&) const;
  void forget_lost_agents();
  void notify_devices(bool all);
  std::vector<wire::DeviceInfo> shown(const Demand&) const;

  // core_health.cc
  void note_answer(Device&, const wire::JobResult&, double device_seconds);
  void judge(Device&, const Session&, wire::ResultStatus);
  void strike(Device&, const JobKey&);
  void withdraw_strikes(const JobKey&, const std::vector<std::string>& devices);
  void quarantine(Device&, std::string why, bool for_strikes);
  void end_quarantine(Device&, Mark, std::string_view event);
  void begin_probations();
  void take_readings(Device&, wire::DeviceHealth&);
  std::string ailment(const Device&) const;
  void note(Device&, std::string event);

  // core_session.cc
  void on(ConnectionId, wire::SessionOpen&, const Tenant&);
  bool admit(ConnectionId, const wire::SessionOpen&, const Tenant&);
  std::vector<std::string> clamp_wishes(wire::SessionOpen&, const Tenant&) const;
  void on(ConnectionId, Session*, wire::Submit&);
  void on(ConnectionId, Session*, wire::SessionAck&);
  void on(ConnectionId, Session*, wire::CancelJobs&);
  void on(ConnectionId, Session*, wire::Summary&);
  void on(ConnectionId, Session*, wire::SessionClose&);
  void set_demand(Session&);
  void close_demand(Demand&);
  bool share_reference(Session&, JobRecord&);
  void claim(Session&, JobRecord&);
  void cancel_job(Session&, JobRecord&);
  void drop_job(Session&, JobRecord&);
  void drop_session(const wire::Uuid&);
  void ask_for_leases_of(const Session&);
  void refuse_session(ConnectionId, std::string reason, bool retry);

  // core_jobs.cc
  void enqueue(Session&, const JobKey&, FairQueue::Place);
  void finish(Session&, JobRecord&, wire::JobResult);
  void finish_without_device(Session&, JobRecord&, wire::ResultStatus, std::string message);
  void lost(const HeldLease&, const std::string& why, bool is_culprit);
  void lost_together(std::vector<HeldLease>, const std::string& why);
  void requeue(const HeldLease&);
  void release(const JobKey&, double device_seconds, bool learn);
  void released(const HeldLease&, double device_seconds, bool learn);
  double spent(const HeldLease&) const;
  void adopt(Session&, JobRecord&, const wire::LeaseId&, const std::string& device, const std::string& agent);
  bool may_adopt(const Session&, const wire::LeaseId&, const std::string& device, const std::string& agent) const;
  void expire();

  // core_dispatch.cc
  void freshen(Demand&);
  void dispatch();
  bool grant_one(Device&, std::map<ConnectionId, wire::Leases>& out);
  bool should_avoid(const JobKey&, const Device&) const;
  void take_back();

  // core_status.cc
  std::string known_devices() const;
  double since_start(Clock::TimePoint) const;
  double wall(Clock::TimePoint) const;
  wire::DeviceStatus status_of(const Device&) const;
  wire::SessionStatus status_of(const Session&, double all_used, bool uuids) const;
  const Session* session_called(const std::string& id) const;
  StatusOr<std::string> cancel_session(const std::string& id);
  double all_used() const;

  // core.cc
  Session* session_of(ConnectionId);
  JobRecord* job_of(const JobKey&);
  void flush();

  const TrackerOptions options_;
  const Clock& clock_;
  Outbox& outbox_;
  const Clock::TimePoint started_;
  DeviceRegistry registry_;
  Matching matching_;
  LeaseTable leases_;
  FairQueue queue_;
  BlobStore blobs_;
  MemoryBudget memory_;
  std::map<wire::Uuid, Session> sessions_;
  std::map<std::string, wire::Uuid> session_ids_;
  std::map<wire::Uuid, Clock::TimePoint> cancelled_;  // sessions that administrators ended, and when
  std::unordered_map<ConnectionId, wire::Uuid> session_connections_;
  std::vector<Demand*> fresh_;           // for dispatch()
  std::vector<Demand*> shown_changed_;   // for notify_devices()
  std::map<std::string, Device*> busy_;  // devices with leases
  std::set<std::string> quarantined_;    // devices that may come back by themselves
  std::unordered_map<Hash128, PendingBlob> pending_blobs_;
  TrackerCounts counts_;
  // Collected while one message is handled, sent at its end: one message each instead of one a job.
  std::map<std::string, std::vector<wire::LeaseId>> acks_, cancels_;  // by agent
  std::map<wire::Uuid, std::vector<wire::JobResult>> results_;
  std::map<wire::Uuid, std::vector<Hash128>> asked_;      // modules that sessions are asked for
  std::map<ConnectionId, std::vector<Hash128>> missing_;  // to agents, after the cancels
};

/// How long a device may work on a job at most, all deadlines of its profile together.
double budget_seconds(const wire::Job& job);

}  // namespace hone::tracker
