// The one session loop: confirm disturbed bests again; propose, prepare, submit, store, learn; then confirm the
// finalists. For one task, or for several that share the devices and the budget.
//
// A trial is stored before anything else is done with it, and acknowledged after that: killing the tuner at any moment
// costs at most the jobs in flight, and the same command continues from the stored trials. Searching has a thread of
// its own, and a few batches are in flight, so that devices have work while the next one is prepared. Outcomes are
// reported to the searcher batch by batch in a fixed order, independent of the order in which results arrive.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tuner/cost/accuracy.h"
#include "tuner/measure/measurer.h"
#include "tuner/search/searcher.h"
#include "tuner/session/progress.h"
#include "tuner/session/trial_log.h"

namespace hone {

struct SessionOptions {
  size_t trials = 1000;  ///< of all tasks together, those of earlier sessions included
  double seconds = 0;    ///< wall time for measuring; 0: no limit
  /// Time for confirming finalists after that, those of the heaviest tasks first and no longer than each is worth; 0:
  /// as long as it takes.
  double confirm_seconds = 0;
  double after_seconds = 0;  ///< the most time of the caller's later work; part of the time left
  size_t stop_after = 0;     ///< stop a task after this many of its trials without an improvement; 0: never
  size_t batch = 0;          ///< 0: see batch_size()
  /// The tasks are the workloads of a model, their weights how often each runs: the progress is that of the model, and
  /// the search ends when the gains do (see gains_window()).
  bool is_model = false;
  size_t devices = 1;    ///< expected number of devices: more devices have more batches in flight
  bool fresh = false;    ///< do not resume
  size_t finalists = 5;  ///< finalists of each task that are measured again side by side at the end, with the default
  std::string searcher = "xgb";  ///< the searcher's name, for the record
  uint64_t seed = 0;             ///< the model's name, for the record
  wire::MeasureProfile profile;
};

/// A task: its workload and its tools. Everything outlives the session. Space, candidates and searcher are also used by
/// the session's own thread.
struct TaskSetup {
  std::string workload, target;  ///< canonical texts
  std::string label;             ///< for the live line; empty: the workload's text
  double flops = 0;              ///< of one run of the workload
  double weight = 1;             ///< weight: how often the workload runs in the model that is tuned
  const Space& space;
  CandidateSource& candidates;
  Searcher& searcher;
  /// The model runs it several times on the same constants, one time after the other: they are measured as they are
  /// then, whatever the profile says of constants.
  bool has_warm_constants = false;
  /// For a task of a model: seconds of one run inside the model as it is built now; 0: not known. This time stands for
  /// a task until it is measured, and decides which task is worth the next trials.
  double seconds_now = 0;
  /// Its config now was found by a search: less is to be had than of a default.
  bool is_tuned_now = false;

  /// `profile` for this task.
  wire::MeasureProfile profile_of(wire::MeasureProfile profile) const {
    profile.cold_constants = profile.cold_constants && !has_warm_constants;
    return profile;
  }
};

/// Services that the tasks of a session share; all outlive it.
struct SessionServices {
  Measurer& measurer;
  TrialLog& log;
  CoreSharing& cores;
  Progress& progress;
  const Clock& clock;
  std::function<int64_t()> unix_ms;  ///< wall clock, for the records
  std::function<int()> interrupts;   ///< how often the user asked to stop
};

/// A config and its time.
struct Ranked {
  std::string config;
  double seconds = 0;  ///< median; 0: not measured
  double spread = 0;   ///< interquartile range over median
  bool confirmed = false;
  std::string job;                        ///< device that confirmed it; empty: none did
  bool disturbed = false;                 ///< timed on a machine that was not quiet
  std::optional<double> default_seconds;  ///< the default's time beside a disturbed confirmation; null: not known
  std::string disturbed_by;               ///< why, as db::disturbed_by(); empty unless disturbed
};

/// Whether the ratio of the two times means anything: confirmations of different days do not compare, nor does a
/// confirmation with a first measurement.
inline bool side_by_side(const Ranked& a, const Ranked& b) { return a.job == b.job; }

/// The session's own time by activity, in seconds; and the devices' time as they reported it, summed over trials.
struct Accounting {
  // On the searching thread, in parallel to the loop.
  double propose = 0;  ///< searching, features and predictions included
  double prepare = 0;  ///< lowering and hashing proposals
  double learn = 0;    ///< model updates
  // On the loop's thread.
  double submit = 0;   ///< encoding and submitting
  double store = 0;    ///< storing in the database
  double wait = 0;     ///< waiting for devices
  double think = 0;    ///< waiting for the searching thread, with no jobs at the devices
  double confirm = 0;  ///< the finalists, from submission to result
  double measure = 0;  ///< everything before the finalists
  double total = 0;
  db::PhaseSeconds devices;
  double idle = 0;          ///< time without jobs, summed over the devices
  size_t devices_seen = 0;  ///< number of devices that sent results
  /// Batches with at least one trial whose device was disturbed and stayed so.
  size_t batches = 0, drifted_batches = 0;
  /// Trials, confirmations among them, that were marked as disturbed, by what db::disturbed_by() says.
  std::map<std::string, uint64_t> disturbed_by;
  /// Share of the devices' time without jobs.
  double idle_share() const {
    return measure > 0 && devices_seen > 0 ? idle / (measure * static_cast<double>(devices_seen)) : 0;
  }
};

/// The result of one task.
struct SessionOutcome {
  std::optional<Ranked> best, default_config;
  std::optional<Ranked> second;  ///< the fastest other program in the job that confirmed the best
  size_t trials = 0;             ///< resumed ones included
  size_t resumed = 0;
  size_t shared = 0;                          ///< configs with the same program as another one: not measured
  std::map<std::string, uint64_t> by_status;  ///< of all trials
  std::string first_failure;                  ///< `rejected: …`; empty when there was none
  /// The model's mean accuracy over this session's batches, each predicted before it was measured.
  Accuracy accuracy;
  std::string stopped_by;  ///< one phrase: `all trials done`, `space exhausted`, …
  bool interrupted = false;
  Accounting accounting;   ///< of the whole session
  double seconds_now = 0;  ///< as TaskSetup::seconds_now
};

/// The result of all tasks.
struct TasksOutcome {
  std::vector<SessionOutcome> tasks;  ///< in the order given
  std::string stopped_by;
  bool interrupted = false;
  Accounting accounting;
};

/// Runs one session. When every trial of every task failed, or none was measured, the error is all_failed_error with
/// the count per status and the first message. Errors of log and measurer end the session; stored trials stay.
/// Interrupted once, it confirms the finalists within two seconds; twice, it leaves at once; in both cases
/// `interrupted` is set and the outcome has the results so far.
StatusOr<TasksOutcome> run_tasks(const std::vector<TaskSetup>& tasks, const SessionServices& services,
                                 const SessionOptions& options);
/// Whether it is run_tasks()' error that no candidate was measured: the session ended before one was.
bool is_nothing_measured(const Status& s);

/// A model's search ends when this many trials in a row together saved less than kLeastGain of the model's time. With
/// many tasks each needs a few of them.
size_t gains_window(size_t tasks);
inline constexpr double kLeastGain = 0.005;

/// The batch size in use: `asked`, or one chosen by the number of trials.
size_t batch_size(size_t asked, size_t trials);

}  // namespace hone
