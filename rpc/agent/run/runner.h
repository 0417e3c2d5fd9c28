// The runner: a small single-threaded process that holds inputs and reference values, checks candidates and times them,
// on CPUs and on devices.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/host_lock.h"
#include "base/lru.h"
#include "base/others_use.h"
#include "rpc/agent/pipe/protocol.h"
#include "rpc/agent/run/best_so_far.h"
#include "rpc/agent/run/candidate.h"
#include "rpc/agent/run/measure_plan.h"
#include "rpc/agent/run/quiet_level.h"
#include "rpc/agent/run/running_candidate.h"
#include "rpc/agent/run/tensor_cache.h"

namespace hone::agent {

struct RunnerOptions {
  int threads = 1;        ///< of a candidate, at most
  std::vector<int> cpus;  ///< to pin them to
  /// Bytes that its tensors and the processes of its candidates may take together; 0: none.
  uint64_t memory_limit = 0;
  int64_t cache_bytes = int64_t{1} << 30;                  ///< inputs; references have a quarter of it
  int machine_cores = 1;                                   ///< including other processes' cores
  std::function<std::optional<CpuAccount>()> cpu_account;  ///< empty: the use by other processes is not known
};

class Runner {
 public:
  /// The arguments outlive the runner. `device_lock`: the device's, where that is not the host's cores. References are
  /// computed on the host, confined by `confinement`. `interrupt_fd` becoming readable during run() cancels it.
  Runner(RunnerOptions options, CandidatePlace& place, HostLock& lock, HostLock* device_lock,
         const Confinement& confinement, int interrupt_fd);

  /// Checks every candidate, then times the right ones, in turn when there are several. Never fails: failures are
  /// results. Each repeat stands between two readings of the sentinel; disturbed repeats are taken again. Where other
  /// processes used the machine throughout, which no single repeat shows, the reply has `drifted`.
  RunReply run(RunRequest request);

 private:
  // The reference's values of one output; candidates' processes share the memory.
  struct ReferenceOutput {
    int64_t count = 0;
    bool integers = false;
    SharedMemory samples, values, tolerances;
    double error_norm = 0;
  };
  struct Reference {
    std::vector<ReferenceOutput> outputs;
    int64_t bytes() const;
  };
  using ReferencePtr = std::shared_ptr<const Reference>;
  // A candidate between its check and its last repeat.
  struct CheckedCandidate {
    CandidateTask task;
    std::unique_ptr<RunningCandidate> candidate;
    std::optional<MeasurePlan> plan;
    double spent = 0;   ///< seconds of its deadline that are used up
    bool quiet = true;  ///< by the latest reading of the sentinel
  };
  // Locks that are held while something is timed: the host's cores, or the device and a core.
  struct TimingHold {
    HostLock::Hold host, device;
  };
  enum class Turn : uint8_t { kMore, kWait, kDone };

  StatusOr<ReferencePtr> reference(const RunRequest& request, RunReply* reply);
  StatusOr<ReferencePtr> compute_reference(const RunRequest& request, RunReply* reply);
  uint64_t room() const;
  Status prepare(const BuiltModule& module, const CandidateRoom& share, const RunRequest& request,
                 const ReferencePtr& reference, CheckedCandidate* checked);
  void check(CheckedCandidate& checked, const RunRequest& request, wire::CandidateResult* result);
  void time_all(std::vector<CheckedCandidate>& checked, const RunRequest& request, RunReply* reply);
  Turn time_step(CheckedCandidate& checked, const RunRequest& request, wire::CandidateResult* result, RunReply* reply);
  void look_for_others(double held_seconds, int own_cores, const std::optional<CpuAccount>& before);
  std::optional<CpuAccount> cpu_account() const { return options_.cpu_account ? options_.cpu_account() : std::nullopt; }
  void finish(CheckedCandidate& checked, wire::CandidateResult* result, RunReply* reply);
  bool read_sentinel(const TimeReply& timed, RunReply* reply);
  TimingHold hold_for_timing();
  void wait_for_quiet(CheckedCandidate& checked, RunReply* reply);

  const RunnerOptions options_;
  CandidatePlace& place_;
  HostLock& lock_;
  HostLock* const device_lock_;
  const Confinement& confinement_;
  const int interrupt_fd_;
  TensorCache tensors_;
  Lru<Hash128, ReferencePtr> references_;
  QuietLevels quiet_;
  WaitBudget wait_budget_;
  OthersUse others_;
  BestSoFar best_;
};

}  // namespace hone::agent
