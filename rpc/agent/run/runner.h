// The runner: a small single-threaded process that holds inputs and reference values, checks candidates and times them,
// wherever they run.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/host_lock.h"
#include "rpc/agent/pipe/protocol.h"
#include "rpc/agent/run/best_so_far.h"
#include "rpc/agent/run/candidate.h"
#include "rpc/agent/run/measure_plan.h"
#include "rpc/agent/run/others_use.h"
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
  int machine_cores = 1;                                   ///< those that are not ours to use as well
  std::function<std::optional<CpuAccount>()> cpu_account;  ///< empty: what others use is not known
};

class Runner {
 public:
  /// What it is given outlives the runner. `device_lock`: of the device, where that is not the host's cores. References
  /// are computed on the host, confined by `confinement`. `interrupt_fd` becoming readable during run() cancels it.
  Runner(RunnerOptions options, CandidatePlace& place, HostLock& lock, HostLock* device_lock,
         const Confinement& confinement, int interrupt_fd);

  /// Checks every candidate, then times those that are right, in turn when there are several. Never fails: failures are
  /// results. Each repeat stands between two readings of the sentinel; what was disturbed is taken again. Where others
  /// used the machine beside all of it, which no repeat can tell, the reply has `drifted`.
  RunReply run(RunRequest request);

 private:
  // What the reference computed of one output; candidates' processes share the memory.
  struct ReferenceOutput {
    int64_t count = 0;
    bool integers = false;
    SharedMemory samples, values, tolerances;
    double error_norm = 0;
  };
  struct Reference {
    Hash128 key;
    std::vector<ReferenceOutput> outputs;
    int64_t bytes() const;
  };
  using ReferencePtr = std::shared_ptr<const Reference>;
  // A candidate between its check and its last repeat.
  struct Live {
    CandidateTask task;
    std::unique_ptr<RunningCandidate> candidate;
    std::optional<MeasurePlan> plan;
    double spent = 0;   ///< seconds of its deadline that are used up
    bool quiet = true;  ///< what the latest reading of the sentinel said
  };
  // While something is timed: the host's cores, or the device and a core.
  struct Quiet {
    HostLock::Hold host, device;
  };
  enum class Turn : uint8_t { kMore, kWait, kDone };

  StatusOr<ReferencePtr> reference(const RunRequest& request, RunReply* reply);
  StatusOr<ReferencePtr> compute_reference(const RunRequest& request, RunReply* reply);
  uint64_t room() const;
  Status prepare(const BuiltModule& module, const CandidateRoom& share, const RunRequest& request,
                 const ReferencePtr& reference, Live* live);
  void check(Live& live, const RunRequest& request, wire::CandidateResult* result);
  void time_all(std::vector<Live>& live, const RunRequest& request, RunReply* reply);
  Turn time_step(Live& live, const RunRequest& request, wire::CandidateResult* result, RunReply* reply);
  void look_for_others(double held_seconds, int own_cores, const std::optional<CpuAccount>& before);
  std::optional<CpuAccount> cpu_account() const { return options_.cpu_account ? options_.cpu_account() : std::nullopt; }
  void finish(Live& live, wire::CandidateResult* result, RunReply* reply);
  bool read_sentinel(const TimeReply& timed, RunReply* reply);
  Quiet hold_for_timing();
  void wait_for_quiet(Live& live, RunReply* reply);

  const RunnerOptions options_;
  CandidatePlace& place_;
  HostLock& lock_;
  HostLock* const device_lock_;
  const Confinement& confinement_;
  const int interrupt_fd_;
  TensorCache tensors_;
  std::list<ReferencePtr> references_;  ///< most recently used first
  std::map<size_t, QuietLevel> quiet_;  ///< by how many cores a reading has: each may be slower when all of them work
  Patience patience_;
  OthersUse others_;
  BestSoFar best_;
};

}  // namespace hone::agent
