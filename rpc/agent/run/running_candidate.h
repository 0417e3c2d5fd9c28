// A candidate as the runner sees it: a process of its own on CPUs; on GPUs a part of the one process that has the
// device open.
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
  /// Loads, prepares, runs and compares; the first call, made once. Takes at most `seconds`.
  virtual Answer<CheckReply> check(double seconds) = 0;
  /// Only after a check that was ok.
  virtual Answer<TimeReply> time(const TimeRequest& request, double seconds) = 0;
  /// Seconds of the last check() or time() that are not the candidate's (a driver's start, sending inputs) and count in
  /// no deadline.
  virtual double others_seconds() const { return 0; }
};

/// Creates the candidates of a runner in the place where they run.
class CandidatePlace {
 public:
  virtual ~CandidatePlace() = default;
  /// `task` and everything that it points to outlive the candidate.
  virtual StatusOr<std::unique_ptr<RunningCandidate>> start(const CandidateTask& task) = 0;
  /// Waits for earlier candidates that are still ending; called before anything is timed.
  virtual void settle() {}
  /// True when timed calls keep this host's cores busy: no other work may run then.
  virtual bool uses_cores() const { return true; }
  /// True when outputs and workspaces lie in this host's memory, which the runner's limit covers.
  virtual bool is_on_host() const { return true; }
  /// Bytes that a candidate may have; 0: not known.
  virtual uint64_t memory_bytes() const = 0;
};

}  // namespace hone::agent
