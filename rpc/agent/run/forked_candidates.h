// Candidates of CPUs: each in a process of its own, forked from the runner (about 0.3 ms).
#pragma once

#include <vector>

#include "rpc/agent/run/running_candidate.h"

namespace hone::agent {

class ForkedCandidates final : public CandidatePlace {
 public:
  /// `interrupt_fd` becoming readable cancels the running candidate.
  ForkedCandidates(uint64_t memory_bytes, int interrupt_fd)
      : memory_bytes_(memory_bytes), interrupt_fd_(interrupt_fd) {}
  ~ForkedCandidates() override { settle(); }

  StatusOr<std::unique_ptr<RunningCandidate>> start(const CandidateTask& task) override;
  void settle() override;
  uint64_t memory_bytes() const override { return memory_bytes_; }

 private:
  friend class ForkedCandidate;
  const uint64_t memory_bytes_;
  const int interrupt_fd_;
  std::vector<pid_t> dying_;  ///< killed, not yet reaped
};

}  // namespace hone::agent
