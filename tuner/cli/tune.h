// The command `tuner`, with its flags as a struct and its streams as arguments.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/driver/model_words.h"
#include "compiler/ops/operator.h"
#include "rpc/wire/credentials.h"
#include "tuner/progress.h"
#include "tuner/search/searcher.h"

namespace hone {

struct SessionOutcome;

/// Of a model, ModelWords; without one, operators.
struct TunerFlags : ModelWords {
  std::string task, args, workload, tasks, plot, target = "llvm", tracker, device, db, search = "xgb";
  size_t trials = 0;  ///< 0: kTrials, of a model kModelTrials for each of its workloads
  size_t stop_after = 0, batch = 0;
  std::vector<std::string> labels;
  std::string quantize;           ///< of --model: int8, by the file `ranges`
  std::string ranges;             ///< that `tensorc --quantize int8 --ranges FILE` wrote
  std::vector<std::string> keep;  ///< of --quantize: nodes that stay in f32
  int priority = 0;
  double seconds = 0, weight = 1, timeout = 10, min_repeat_ms = 2;
  uint32_t repeat = 3;
  int threads = 0;  ///< 0: what the target says
  uint64_t seed = 0;
  bool warm_start = true;    ///< begin with a prior and with seeds from foreign records
  bool print_tasks = false;  ///< of --model: print the file of --tasks that says the same, and nothing else
  bool list = false;         ///< print the tasks there are, and nothing else
  bool fresh = false, json = false, insecure = false;
  wire::CredentialFiles credentials;  ///< sent to --tracker
  /// Files that were read for it, of flags, and what their user calls them: none is written over.
  std::vector<std::pair<std::string, std::string>> read_before;
  // For programs that call tune() themselves; the command line has no flags for these.
  Narrowing narrowing;                                                   ///< tune a sub-space
  bool refine = true;                                                    ///< measure candidates near the best longer
  size_t finalists = 5;                                                  ///< finalists measured side by side at the end
  std::function<std::unique_ptr<Searcher>(const Space&)> make_searcher;  ///< instead of `search`
};

inline constexpr size_t kTrials = 1000;
/// Trials of a model without --trials, for each of its workloads: a bound, the search ends with the gains.
inline constexpr size_t kModelTrials = 256;

struct TunerIo {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;            ///< whether err is a terminal
  std::function<int()> interrupts;  ///< how often the user asked to stop
  /// Called with the first task's outcome, for callers that want more than the report; may be empty.
  std::function<void(const SessionOutcome&)> on_outcome;
  TerminalSize size = {};                                 ///< of the terminal, when err is one
  std::function<void(const Snapshot&)> on_progress = {};  ///< called some ten times a second at most; may be empty
};

/// The tasks with their arguments and defaults; apart, at the end, those that have nothing to tune.
void list_tasks(const OperatorTable& operators, std::ostream& out);

/// One tuning session. UserError and statuses as run_cli() expects them.
Status tune(const OperatorTable& operators, const TunerFlags& flags, const TunerIo& io);

}  // namespace hone
