// The one session loop: propose, prepare, submit, store, learn; then confirm the finalists.
//
// A trial is stored before anything else is done with it, and acknowledged after that: killing the tuner at any moment costs at most what
// was in flight, and the same command goes on from what is stored. Two batches are in flight, so that devices have work while the next is
// prepared; the searcher hears of outcomes batch by batch in a fixed order, whatever the order in which results come in.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tuner/measure/measurer.h"
#include "tuner/progress.h"
#include "tuner/search/searcher.h"
#include "tuner/trial_log.h"

namespace hone {

struct SessionOptions {
  size_t trials = 1000;    ///< at most, those of earlier sessions included
  double seconds = 0;      ///< wall time for measuring; 0: no limit
  size_t stop_after = 0;   ///< stop when so many trials in a row brought no gain; 0: never
  size_t batch = 0;        ///< 0: an eighth of the trials, from 8 to 64
  bool fresh = false;      ///< do not resume
  size_t finalists = 5;    ///< measured again side by side at the end, with the default
  std::string searcher = "xgb";  ///< its name, for the record
  uint64_t seed = 0;             ///< likewise
  wire::MeasureProfile profile;
};

/// What is tuned, and with what. All outlive the session.
struct SessionSetup {
  std::string workload, target;  ///< canonical texts
  double flops = 0;              ///< of one run of the workload
  const Space& space;
  CandidateSource& candidates;
  Searcher& searcher;
  Measurer& measurer;
  TrialLog& log;
  CoreSharing& cores;
  Progress& progress;
  const Clock& clock;
  std::function<int64_t()> unix_ms;      ///< wall clock, for the records
  std::function<int()> interrupts;       ///< how often the user asked to stop
};

/// A config and how fast it was.
struct Ranked {
  std::string config;
  double seconds = 0;  ///< median; 0: not measured
  double spread = 0;   ///< interquartile range over median
  bool confirmed = false;
};

/// Where the session's own time went, in seconds; and the devices' time as they reported it, summed over trials.
struct Accounting {
  double propose = 0;  ///< searching, features and predictions included
  double prepare = 0;  ///< lowering what was proposed, hashing, encoding, submitting
  double learn = 0;    ///< model updates
  double store = 0;    ///< database
  double wait = 0;     ///< with nothing to do but wait for devices
  double confirm = 0;  ///< the finalists, from submission to result
  double total = 0;
  db::PhaseSeconds devices;
};

struct SessionOutcome {
  std::optional<Ranked> best, default_config;
  size_t trials = 0;    ///< resumed ones included
  size_t resumed = 0;
  size_t shared = 0;    ///< configs whose program was another config's: known without measuring
  std::map<std::string, uint64_t> by_status;  ///< of all trials
  std::string stopped_by;   ///< one phrase: `all trials done`, `space exhausted`, …
  bool interrupted = false;
  Accounting accounting;
};

/// Runs one session. When every trial failed, or none was measured, the error is all_failed_error with the count per status and the first
/// message. Errors of log and measurer end the session; what was stored stays. Interrupted once, it confirms the finalists within two
/// seconds; twice, it leaves at once; in both cases `interrupted` is set and the outcome is what was found.
StatusOr<SessionOutcome> run_session(const SessionSetup& setup, const SessionOptions& options);

/// The batch size in use: `asked`, or by the number of trials.
size_t batch_size(size_t asked, size_t trials);

}  // namespace hone
