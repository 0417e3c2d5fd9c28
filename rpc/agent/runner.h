// The runner: a small single-threaded process that holds inputs and reference values and forks once per candidate (about 0.3 ms).
#pragma once

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "rpc/agent/best_so_far.h"
#include "rpc/agent/candidate.h"
#include "rpc/agent/candidate_process.h"
#include "rpc/agent/host_lock.h"
#include "rpc/agent/measure_plan.h"
#include "rpc/agent/protocol.h"
#include "rpc/agent/quiet_level.h"
#include "rpc/agent/tensor_cache.h"

namespace hone::agent {

struct RunnerOptions {
  int threads = 1;                        ///< of a candidate, at most
  std::vector<int> cpus;                  ///< to pin them to
  uint64_t memory_limit = 0;              ///< of a candidate's address space; 0: none
  int64_t cache_bytes = int64_t{1} << 30; ///< inputs; references have a quarter of it
};

class Runner {
 public:
  /// `lock` and `confinement` outlive the runner. `interrupt_fd` becoming readable during run() cancels it.
  Runner(RunnerOptions options, HostLock& lock, const Confinement& confinement, int interrupt_fd);

  /// Checks every candidate, then times those that are right, in turn when there are several. Never fails: failures are results.
  /// Each repeat stands between two readings of the sentinel; what was disturbed is taken again.
  RunReply run(const RunRequest& request);

 private:
  // What the reference computed, shared with the candidates' processes.
  struct Reference {
    Hash128 key;
    bool integers = false;
    SharedMemory samples, values, magnitudes;
    int64_t count = 0;
    std::vector<TensorCache::Tensor> inputs;
  };
  // A candidate between its check and its last repeat.
  struct Live {
    std::vector<TensorCache::Tensor> inputs;
    CandidateTask task;
    std::optional<CandidateProcess> process;
    std::optional<MeasurePlan> plan;
    double spent = 0;   ///< seconds of its deadline that are used up
    bool quiet = true;  ///< what the latest reading of the sentinel said
  };
  enum class Turn : uint8_t { kMore, kWait, kDone };

  StatusOr<const Reference*> reference(const RunRequest& request, RunReply* reply);
  StatusOr<Reference> compute_reference(const RunRequest& request, RunReply* reply);
  Status prepare(const BuiltModule& module, const RunRequest& request, const Reference* reference, Live* live);
  void check(Live& live, const wire::MeasureProfile& profile, bool interleaved, wire::CandidateResult* result);
  void time_all(std::vector<Live>& live, const wire::MeasureProfile& profile, RunReply* reply);
  Turn time_step(Live& live, const wire::MeasureProfile& profile, wire::CandidateResult* result, RunReply* reply);
  void finish(Live& live, wire::CandidateResult* result, RunReply* reply);
  bool read_sentinel(const TimeReply& timed, RunReply* reply);
  void end(Live& live);
  void reap_all();
  void wait_for_quiet(Live& live, RunReply* reply);

  const RunnerOptions options_;
  HostLock& lock_;
  const Confinement& confinement_;  ///< of candidates
  const int interrupt_fd_;
  TensorCache tensors_;
  std::list<Reference> references_;  ///< most recently used first
  std::map<size_t, QuietLevel> quiet_;  ///< by how many cores a reading has: each may be slower when all of them work
  Patience patience_;
  BestSoFar best_;
  std::vector<pid_t> dying_;            ///< killed, not yet reaped
};

}  // namespace hone::agent
