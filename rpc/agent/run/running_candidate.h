// A candidate as the runner sees it, wherever it runs: a process of its own on CPUs, a device that one process has open
// on GPUs.
#pragma once

#include <memory>

#include "rpc/agent/pipe/protocol.h"
#include "rpc/agent/run/candidate.h"
#include "rpc/agent/run/candidate_process.h"

namespace hone::agent {

/// Ends with this object.
class RunningCandidate {
 public:
  virtual ~RunningCandidate() = default;
  /// Loads, prepares, runs and compares; first and once. At most `seconds`.
  virtual Answer<CheckReply> check(double seconds) = 0;
  /// After a check that was ok.
  virtual Answer<TimeReply> time(const TimeRequest& request, double seconds) = 0;
  /// Of the last check() or time(): the seconds that are not the candidate's (a driver that started, inputs that were
  /// sent), and count in no deadline.
  virtual double others_seconds() const { return 0; }
};

/// Where the candidates of a runner run.
class CandidatePlace {
 public:
  virtual ~CandidatePlace() = default;
  /// `task` and what it points to outlive the candidate.
  virtual StatusOr<std::unique_ptr<RunningCandidate>> start(const CandidateTask& task) = 0;
  /// Waits for what is still ending of earlier candidates: before anything is timed.
  virtual void settle() {}
  /// Timed calls keep this host's cores busy: nothing else may.
  virtual bool uses_cores() const { return true; }
  /// Candidates' outputs and workspaces lie in this host's memory, of which the runner's limit speaks.
  virtual bool is_on_host() const { return true; }
  /// Bytes that a candidate may have; 0: not known.
  virtual uint64_t memory_bytes() const = 0;
};

}  // namespace hone::agent
