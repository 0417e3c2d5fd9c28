// The command `tuner`, with its flags as a struct and its streams as arguments.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/ops/operator.h"
#include "tuner/cli/team_flags.h"
#include "tuner/driver/tune_request.h"
#include "tuner/session/progress.h"

namespace hone {

struct SessionOutcome;

/// A session and its output.
struct TunerFlags : TuneRequest {
  TeamFlags team_flags;      ///< name TuneRequest's hub, where that is null
  std::string plot;          ///< a file for the tuning curve
  bool print_tasks = false;  ///< of a model: print the file of --tasks that says the same, and nothing else
  bool list = false;         ///< print the tasks there are, and nothing else
  bool confirm = false;      ///< search nothing: measure the configs known from elsewhere beside the defaults
  bool json = false;
  /// Files that were read for it, of flags, and what their user calls them: none is written over.
  std::vector<std::pair<std::string, std::string>> read_before;
};

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

/// The tasks with their arguments and defaults; tasks with nothing to tune stand apart, at the end.
void list_tasks(const OperatorTable& operators, std::ostream& out);

/// One tuning session. UserError and statuses as run_cli() expects them.
Status tune(const OperatorTable& operators, const TunerFlags& flags, const TunerIo& io);

}  // namespace hone
