// The agent's middle: leases in batches, blobs, builds on all cores, then runs back to back, results out.
// One thread (the io_context's); no gRPC, no process here: both come in as interfaces.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "rpc/agent/asio.h"
#include "rpc/agent/blob_cache.h"
#include "rpc/agent/measurer.h"
#include "rpc/wire/messages.h"

namespace hone::agent {

/// The way to the tracker (wire::AgentClient). `blobs`' reply may come on any thread.
struct TrackerLink {
  using BlobReply = std::function<void(std::vector<wire::Blob> found, std::vector<Hash128> missing)>;
  std::function<void(uint32_t slots)> want;
  std::function<void(const wire::LeaseId&, wire::JobResult)> result;
  std::function<void(std::vector<wire::LeaseId>, std::string reason)> give_back;
  std::function<void(std::vector<Hash128>, BlobReply)> request_blobs;
};

struct SupervisorOptions {
  std::string device;             ///< NAME/cpu
  uint32_t batch = 8;             ///< leases measured together; as many wait meanwhile
  bool allow_fake = false;        ///< take FakePayload jobs
  size_t blob_bytes = 128 << 20;
  size_t kept_builds = 128;       ///< artifacts kept for references and finalists
};

class Supervisor {
 public:
  Supervisor(asio::io_context& io, SupervisorOptions options, TrackerLink link, Measurer& measurer, const Clock& clock);

  /// Begins to want leases.
  void start();
  void on_leases(std::vector<wire::Lease> leases);
  void on_cancel(const std::vector<wire::LeaseId>& ids);
  /// Gives back those that are not in the batch being measured.
  void on_take_back(const std::vector<wire::LeaseId>& ids);
  /// Gives back what has not been started, lets what runs finish, then calls `done`.
  void drain(std::function<void()> done);

 private:
  struct Item {
    wire::Lease lease;
    Clock::TimePoint arrived;
    bool cancelled = false, finished = false, ran = false;
    wire::JobResult result;
    std::vector<BuildOutcome> builds;  ///< of job.modules
    BuildOutcome reference;
  };
  using ItemPtr = std::shared_ptr<Item>;
  struct BlobState {
    bool pending = true, missing = false;  ///< missing: nobody has it
    Clock::TimePoint requested, answered;
  };
  using Batch = std::vector<ItemPtr>;

  awaitable<void> work();
  awaitable<void> measure(Batch batch);
  awaitable<void> build_all(const Batch& batch);
  awaitable<void> build_one(Hash128 hash, BuildPurpose purpose, double timeout_s, std::shared_ptr<size_t> left);
  awaitable<void> run_item(ItemPtr item);
  awaitable<void> run_fake(ItemPtr item);

  void request_missing(const std::vector<wire::Lease>& leases);
  void request(std::vector<Hash128> wanted);
  bool is_missing(Hash128 hash) const;
  void on_blobs(std::vector<wire::Blob> found, const std::vector<Hash128>& missing);
  void count_idle(Item& first, double seconds);
  bool waits_for_blobs(const Item& item) const;
  void collect_builds(Item& item);
  void report(const ItemPtr& item);
  void tell_of_drift(bool drifted);
  void drop_cancelled(Batch& batch);
  void give_back(const Batch& items, const std::string& reason);
  double seconds_since(Clock::TimePoint t) const;

  asio::io_context& io_;
  const SupervisorOptions options_;
  const TrackerLink link_;
  Measurer& measurer_;
  const Clock& clock_;

  std::deque<ItemPtr> queue_;   ///< leased, not started
  Batch active_;                ///< of the batch being measured
  ItemPtr running_;
  std::optional<wire::Uuid> last_session_;  ///< of the batch before
  int drifted_in_a_row_ = 0;
  bool draining_ = false;
  bool fetching_ = false;       ///< a module that was pushed out of blobs_, until it is built
  std::function<void()> drained_;
  Event changed_;               ///< leases came, were cancelled, blobs or builds arrived, drain
  asio::steady_timer fake_timer_;

  BlobCache blobs_;
  std::unordered_map<Hash128, BlobState> blob_states_;
  /// Builds by module hash, most recently used first; what failed stays only for its batch.
  std::list<std::pair<Hash128, BuildOutcome>> builds_;
  /// For replies and posts that outlive this object.
  std::shared_ptr<Supervisor*> alive_ = std::make_shared<Supervisor*>(this);
};

}  // namespace hone::agent
