// The jobs of a session: submits them, collects results, stores them, and only then acknowledges them.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "tuner/session/task_run.h"

namespace hone {

/// So long a session waits for results or proposals before it looks around.
inline constexpr std::chrono::milliseconds kPoll{100};

class SessionJobs {
 public:
  /// All references outlive this object; `spent` is added to.
  SessionJobs(const SessionServices& services, std::vector<TaskRun>& tasks, Accounting& spent)
      : s_(services), tasks_(tasks), spent_(spent) {}

  struct Trial {
    size_t task = 0;
    uint64_t batch = 0;
    std::shared_ptr<const Candidate> candidate;
    wire::MeasureProfile profile;
    uint64_t seq = 0;      ///< returned by submit(); later attempts have other seqs
    size_t cancelled = 0;  ///< attempts that came back cancelled
  };
  /// Figures of a batch beside its trials.
  struct Tally {
    double idle = 0;
    int64_t drifted = 0;
  };

  /// A number that no job of this session has.
  uint64_t next_seq() { return next_seq_++; }
  /// Submits jobs of one candidate each; returns their seqs, in order.
  std::vector<uint64_t> submit(std::vector<Trial> trials);
  /// Submits a job of several candidates, whose result the caller takes; returns its seq.
  uint64_t submit(size_t task, std::vector<std::shared_ptr<const Candidate>> candidates,
                  const wire::MeasureProfile& profile);
  /// Stores and acknowledges the results that came in; waits at most `at_most` for the first. Jobs that came back
  /// cancelled are submitted again, a few times.
  Status take(std::chrono::milliseconds at_most);
  /// From now on cancelled results are those that the session itself cancelled.
  void stopping() { stopping_ = true; }
  Status store(size_t task, const std::vector<db::TrialRow>& rows);

  bool waits_for(uint64_t seq) const { return waiting_.count(seq) != 0; }
  size_t in_flight() const { return trials_.size(); }
  size_t in_flight(size_t task) const;
  /// The tally of a complete batch; forgets it.
  Tally take_tally(uint64_t batch);
  /// The result of a job of several candidates, once; null while it is not there. The caller stores it and acknowledges
  /// it.
  std::optional<wire::JobResult> take_result(uint64_t seq);

 private:
  void hand_over(std::vector<Trial> trials);
  double now() const { return std::chrono::duration<double>(s_.clock.now().time_since_epoch()).count(); }

  const SessionServices& s_;
  std::vector<TaskRun>& tasks_;
  Accounting& spent_;
  uint64_t next_seq_ = 0;
  size_t cancelled_in_a_row_ = 0;
  bool stopping_ = false;
  std::unordered_map<uint64_t, Trial> trials_;  // by the seq of the latest attempt
  std::set<uint64_t> waiting_;                  // their seqs as submit() returned them
  std::map<uint64_t, Tally> tallies_;
  std::map<uint64_t, wire::JobResult> others_;
  std::set<std::string> devices_;
};

}  // namespace hone
