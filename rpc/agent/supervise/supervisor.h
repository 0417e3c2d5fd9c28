// The agent's core: leases in batches, blobs, builds on all cores, then runs one after the other, results out. One
// thread (the io_context's); gRPC and processes come in as interfaces.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/lru.h"
#include "rpc/agent/pipe/asio.h"
#include "rpc/agent/supervise/lease_handler.h"
#include "rpc/agent/supervise/measurer.h"
#include "rpc/agent/supervise/module_store.h"
#include "rpc/wire/messages/messages.h"

namespace hone::agent {

struct SupervisorOptions {
  std::string device;       ///< NAME/cpu
  uint32_t batch = 8;       ///< leases measured together; as many more wait meanwhile
  bool allow_fake = false;  ///< take FakePayload jobs
  size_t blob_bytes = 128 << 20;
  size_t kept_builds = 128;  ///< artifacts kept for references and finalists
  /// Upper limits in seconds, for every job: to build its candidates together; to check and time them together. Its
  /// reference may take as long once more.
  double most_build_s = 60, most_run_s = 120;
  /// The state of this machine now; its `throttled`: now or since the last call. Called before and after each run, so
  /// it is cheap; empty: not known.
  std::function<wire::DeviceHealth()> glance;
  double most_throttled_s = 60;  ///< how long a run waits for a hot or throttled machine
};

class Supervisor final : public LeaseHandler {
 public:
  Supervisor(asio::io_context& io, SupervisorOptions options, TrackerLink link, Measurer& measurer, const Clock& clock);

  void start() override;
  void on_leases(std::vector<wire::Lease> leases) override;
  void on_cancel(const std::vector<wire::LeaseId>& ids) override;
  /// Those that are not in the batch being measured have not been started.
  void on_take_back(const std::vector<wire::LeaseId>& ids) override;
  void drain(std::function<void()> done) override;

  /// How long a batch that could begin waits for modules that were just asked for. Most come within milliseconds; a
  /// session that needs longer is not waited for.
  static constexpr std::chrono::milliseconds kGrace{10};

 private:
  /// The key of a kept build. A builder works for one session, so its artifacts serve no other one; and a GPU's
  /// candidates are built for the device, references for the host.
  struct BuildKey {
    wire::Uuid session;
    Hash128 module;
    BuildPurpose purpose = BuildPurpose::kCandidate;
    auto operator<=>(const BuildKey&) const = default;
  };
  struct Item {
    wire::Lease lease;
    Clock::TimePoint arrived;
    bool cancelled = false, finished = false, ran = false;
    bool apart = false;  ///< its modules are fetched and built one after the other
    wire::JobResult result;
    std::map<Hash128, BlobCache::Blob> modules;  ///< from the start of its batch until its modules are built
    std::map<BuildKey, BuildOutcome> built;
  };
  using ItemPtr = std::shared_ptr<Item>;
  using Batch = std::vector<ItemPtr>;

  awaitable<void> work();
  awaitable<Batch> next_batch();
  awaitable<void> measure(Batch batch);
  awaitable<void> build_all(const Batch& batch);
  awaitable<void> build_one(BuildKey key, BuildOrder order, Batch items, std::shared_ptr<size_t> left);
  awaitable<void> fetch_and_build(ItemPtr item);
  awaitable<BlobCache::Blob> fetch(Hash128 module);
  awaitable<void> run_item(ItemPtr item);
  void take_reply(Item& item, RunReply reply, const std::vector<size_t>& places, const wire::DeviceHealth& before);
  awaitable<void> run_fake(ItemPtr item);

  static std::vector<BuildKey> needs(const Item& item);
  double build_seconds(const wire::Job& job, BuildPurpose purpose) const;
  bool is_ready(const Item& item);
  bool waits_for_modules(const Item& item) const;
  bool was_just_asked_for(const Item& item) const;
  void take_apart();
  void forget_modules();
  void request(const std::vector<Hash128>& wanted);
  void on_blobs(std::vector<wire::Blob> found, std::vector<Hash128> missing);
  void count_idle(Item& first, double seconds);
  void count_transfer(Item& item) const;
  void collect_builds(Item& item);
  void say_limits(Item& item) const;
  void report(const ItemPtr& item);
  awaitable<wire::DeviceHealth> wait_while_throttled(const Item& item);
  void tell_of_drift(bool drifted, const std::string& throttled);
  void drop_cancelled(Batch& batch);
  Batch take_queued(const std::function<bool(const Item&)>& which);
  void give_back(const Batch& items, const std::string& reason);
  double seconds_since(Clock::TimePoint t) const;

  asio::io_context& io_;
  const SupervisorOptions options_;
  const TrackerLink link_;
  Measurer& measurer_;
  const Clock& clock_;

  std::deque<ItemPtr> queue_;  ///< leased, not started
  Batch active_;               ///< of the batch being measured
  ItemPtr running_;
  std::optional<wire::Uuid> last_session_;  ///< of the batch before
  int drifted_in_a_row_ = 0;
  bool waited_in_vain_ = false;  ///< for a throttled machine, which has been so since
  bool draining_ = false;
  std::function<void()> drained_;
  Event changed_;  ///< leases came, were cancelled, blobs or builds arrived, drain
  asio::steady_timer fake_timer_, grace_timer_, throttle_timer_;

  ModuleStore modules_;
  /// Sessions with an item whose modules are being fetched and built one after the other.
  std::set<wire::Uuid> apart_;
  /// Builds that succeeded.
  Lru<BuildKey, BuildOutcome> builds_;
  /// Keeps replies and posted tasks from using this object after its end.
  std::shared_ptr<Supervisor*> alive_ = std::make_shared<Supervisor*>(this);
};

}  // namespace hone::agent
