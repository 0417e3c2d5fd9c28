#include "rpc/agent/run/forked_candidates.h"

namespace hone::agent {

class ForkedCandidate final : public RunningCandidate {
 public:
  ForkedCandidate(CandidateProcess process, ForkedCandidates& place) : process_(std::move(process)), place_(place) {}
  // Freeing a process's memory takes a while, which another core can do.
  ~ForkedCandidate() override {
    if (const pid_t pid = process_.kill_only(); pid > 0) place_.dying_.push_back(pid);
  }
  Answer<CheckReply> check(double seconds) override {
    return process_.receive<CheckReply>(FrameKind::kCheckReply, seconds, place_.interrupt_fd_);
  }
  Answer<TimeReply> time(const TimeRequest& request, double seconds) override {
    return process_.ask<TimeReply>(FrameKind::kTimeRequest, request, FrameKind::kTimeReply, seconds,
                                   place_.interrupt_fd_);
  }

 private:
  CandidateProcess process_;
  ForkedCandidates& place_;
};

StatusOr<std::unique_ptr<RunningCandidate>> ForkedCandidates::start(const CandidateTask& task) {
  HONE_ASSIGN_OR_RETURN(CandidateProcess process, CandidateProcess::fork([&](int fd) { run_candidate(fd, task); }));
  return std::make_unique<ForkedCandidate>(std::move(process), *this);
}

void ForkedCandidates::settle() {
  for (const pid_t pid : dying_) CandidateProcess::reap(pid);
  dying_.clear();
}

}  // namespace hone::agent
