// The one session loop: confirm again what was disturbed; propose, prepare, submit, store, learn; then confirm the
// finalists. For one task, or for several that share the devices and the budget.
//
// A trial is stored before anything else is done with it, and acknowledged after that: killing the tuner at any moment
// costs at most what was in flight, and the same command goes on from what is stored. Searching happens on a thread of
// its own, and a few batches are in flight, so that devices have work while the next is prepared; the searcher hears of
// outcomes batch by batch in a fixed order, whatever the order in which results come in.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tuner/cost/accuracy.h"
#include "tuner/measure/measurer.h"
#include "tuner/progress.h"
#include "tuner/search/searcher.h"
#include "tuner/trial_log.h"

namespace hone {

struct SessionOptions {
  size_t trials = 1000;          ///< of all tasks at most, those of earlier sessions included
  double seconds = 0;            ///< wall time for measuring; 0: no limit
  size_t stop_after = 0;         ///< leave a task when so many of its trials in a row brought no gain; 0: never
  size_t batch = 0;              ///< 0: as batch_size() says
  size_t devices = 1;            ///< that are expected to measure: more have more batches in flight
  bool fresh = false;            ///< do not resume
  size_t finalists = 5;          ///< of each task, measured again side by side at the end, with the default
  std::string searcher = "xgb";  ///< its name, for the record
  uint64_t seed = 0;             ///< likewise
  wire::MeasureProfile profile;
};

/// What is tuned, and with what; all outlive the session. Space, candidates and searcher are used by the session's own
/// thread as well.
struct TaskSetup {
  std::string workload, target;  ///< canonical texts
  std::string label;             ///< for the live line; empty: the workload
  double flops = 0;              ///< of one run of the workload
  double weight = 1;             ///< runs of it in what is to become fast
  const Space& space;
  CandidateSource& candidates;
  Searcher& searcher;
};

/// What the tasks of a session share; all outlive it.
struct SessionServices {
  Measurer& measurer;
  TrialLog& log;
  CoreSharing& cores;
  Progress& progress;
  const Clock& clock;
  std::function<int64_t()> unix_ms;  ///< wall clock, for the records
  std::function<int()> interrupts;   ///< how often the user asked to stop
};

/// A session of one task.
struct SessionSetup {
  std::string workload, target;
  double flops = 0;
  const Space& space;
  CandidateSource& candidates;
  Searcher& searcher;
  Measurer& measurer;
  TrialLog& log;
  CoreSharing& cores;
  Progress& progress;
  const Clock& clock;
  std::function<int64_t()> unix_ms;
  std::function<int()> interrupts;
};

/// A config and how fast it was.
struct Ranked {
  std::string config;
  double seconds = 0;  ///< median; 0: not measured
  double spread = 0;   ///< interquartile range over median
  bool confirmed = false;
  std::string job;                        ///< that confirmed it; empty: none did
  bool disturbed = false;                 ///< timed on a machine that was not quiet
  std::optional<double> default_seconds;  ///< of the default beside it, of a disturbed confirmation; null: not known
};

/// Whether the ratio of the two says something: confirmations of different days do not, nor does one beside a first
/// measurement.
inline bool side_by_side(const Ranked& a, const Ranked& b) { return a.job == b.job; }

/// Where the session's own time went, in seconds; and the devices' time as they reported it, summed over trials.
struct Accounting {
  // On the searching thread, beside all else.
  double propose = 0;  ///< searching, features and predictions included
  double prepare = 0;  ///< lowering what was proposed, hashing
  double learn = 0;    ///< model updates
  // On the loop's thread.
  double submit = 0;   ///< encoding and handing over
  double store = 0;    ///< database
  double wait = 0;     ///< for devices
  double think = 0;    ///< for the searching thread, with nothing at the devices
  double confirm = 0;  ///< the finalists, from submission to result
  double measure = 0;  ///< all until the finalists
  double total = 0;
  db::PhaseSeconds devices;
  double idle = 0;          ///< devices had nothing to do, summed over them
  size_t devices_seen = 0;  ///< that sent results
  /// Batches that came back whole with a trial whose device was disturbed and stayed so.
  size_t batches = 0, drifted_batches = 0;
  /// Share of the devices' time that they had nothing to do.
  double idle_share() const {
    return measure > 0 && devices_seen > 0 ? idle / (measure * static_cast<double>(devices_seen)) : 0;
  }
};

/// What came of one task.
struct SessionOutcome {
  std::optional<Ranked> best, default_config;
  std::optional<Ranked> second;  ///< the fastest program beside the best in the job that confirmed it
  size_t trials = 0;             ///< resumed ones included
  size_t resumed = 0;
  size_t shared = 0;                          ///< configs whose program was another config's: known without measuring
  std::map<std::string, uint64_t> by_status;  ///< of all trials
  std::string first_failure;                  ///< `rejected: …`; empty when there was none
  /// The model's accuracy on each batch before it was measured: the mean over this session's batches.
  Accuracy accuracy;
  std::string stopped_by;  ///< one phrase: `all trials done`, `space exhausted`, …
  bool interrupted = false;
  Accounting accounting;  ///< of the whole session
};

/// What came of all of them.
struct TasksOutcome {
  std::vector<SessionOutcome> tasks;  ///< in the order given
  std::string stopped_by;
  bool interrupted = false;
  Accounting accounting;
};

/// Runs one session. When every trial of every task failed, or none was measured, the error is all_failed_error with
/// the count per status and the first message. Errors of log and measurer end the session; what was stored stays.
/// Interrupted once, it confirms the finalists within two seconds; twice, it leaves at once; in both cases
/// `interrupted` is set and the outcome is what was found.
StatusOr<TasksOutcome> run_tasks(const std::vector<TaskSetup>& tasks, const SessionServices& services,
                                 const SessionOptions& options);
/// The same of one task.
StatusOr<SessionOutcome> run_session(const SessionSetup& setup, const SessionOptions& options);

/// The batch size in use: `asked`, or by the number of trials.
size_t batch_size(size_t asked, size_t trials);

}  // namespace hone
