// Builds and runs for one device of this host: a pool of hone-builder processes and one hone-runner, each replaced when
// it dies.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rpc/agent/pipe/device_protocol.h"
#include "rpc/agent/sandbox/memory_share.h"
#include "rpc/agent/sandbox/scratch_folder.h"
#include "rpc/agent/supervise/builder_folder.h"
#include "rpc/agent/supervise/measurer.h"
#include "rpc/agent/supervise/worker.h"

namespace hone::agent {

struct HostOptions {
  int threads = 1;     ///< of candidates
  int builders = 1;    ///< compiling at the same time; fewer where memory does not hold them
  std::string target;  ///< canonical, of candidates; empty: this machine's CPU
  DeviceSpec device = {};
  /// Bytes that the processes of all devices, this one included, may use; 0: as much as this process may.
  uint64_t memory = 0;
  int devices = 1;   ///< that share it
  bool runs = true;  ///< false: builds alone, there is no runner
};

/// The versions and targets of this host, as its first builder and its runner report them.
struct HostInfo {
  std::string target;           ///< of this machine's CPU
  std::string version;          ///< the code generator's
  std::string device_compiler;  ///< of the GPU, with its version; empty: none, or the driver's own
  std::vector<std::string> missing;
};

/// The devices of these kinds that this machine's drivers offer. A process of its own loads the drivers, so that a bad
/// driver costs only that process.
awaitable<DeviceList> list_devices(asio::io_context& io, std::vector<DeviceKind> kinds);

class HostMeasurer final : public Measurer {
 public:
  HostMeasurer(asio::io_context& io, HostOptions options, ScratchFolder folder);
  ~HostMeasurer() override;

  /// Starts a builder and the runner and asks them for the host's properties. To be awaited before anything else.
  awaitable<StatusOr<HostInfo>> start();
  /// The target of candidates from now on.
  void set_target(std::string target) { options_.target = std::move(target); }
  /// Modules for CPUs are built there from now on, and here where that is not possible. It outlives this; null: here.
  void build_elsewhere(BuilderElsewhere* builder) { elsewhere_ = builder; }

  awaitable<BuildOutcome> build(BuildOrder order) override;
  awaitable<RunReply> run(RunRequest request) override;
  void cancel_run() override;

  /// For tests that kill them. 0 when there is none now.
  pid_t runner_pid() const { return runner_ ? runner_->pid() : 0; }
  std::vector<pid_t> builder_pids() const;
  const MemoryShares& memory() const { return memory_; }

 private:
  // The slot of a builder. Its process is replaced when it dies, and before it works for another session: damage done
  // by a module stays within its session.
  struct Slot {
    BuilderFolder folder;
    std::shared_ptr<Worker> worker;     ///< null: started when it is needed
    std::optional<wire::Uuid> session;  ///< the session that `worker` has built for
    uint64_t used = 0;                  ///< order of the last use: higher is later
    bool busy = false;
  };
  struct Waiter {
    wire::Uuid session;
    Slot* slot = nullptr;
  };

  awaitable<Slot*> take_slot(wire::Uuid session);
  void release(Slot& slot);
  void hand_out();
  awaitable<StatusOr<BuilderHello>> start_builder(Slot& slot);
  awaitable<StatusOr<RunnerHello>> start_runner();
  awaitable<StatusOr<BuildReply>> build_on(Slot& slot, std::string request, double timeout_s, bool* begun);
  // Unavailable: there is no runner, and none can be started.
  awaitable<StatusOr<Frame>> ask_runner(FrameKind kind, std::string payload, double seconds);

  std::vector<std::string> child_arguments(const std::string& folder, uint64_t memory) const;

  asio::io_context& io_;
  HostOptions options_;
  std::string host_target_;  ///< target of references
  BuilderElsewhere* elsewhere_ = nullptr;
  const ScratchFolder folder_;
  const MemoryShares memory_;
  std::vector<Slot> slots_;    ///< never resized
  std::list<Waiter> waiting_;  ///< waiters for a slot, in order
  int busy_ = 0;               ///< slots
  uint64_t uses_ = 0;
  Event slot_handed_out_;
  std::shared_ptr<Worker> runner_;
  bool running_ = false, sending_ = false;  ///< a run is requested, and its request is being sent to the runner
  bool cancelled_ = false;                  ///< the run that is requested
  uint64_t files_ = 0;
};

}  // namespace hone::agent
