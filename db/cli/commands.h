// The tophub program's commands.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/exit_code.h"
#include "base/json.h"
#include "db/autotvm.h"
#include "db/cli/listing.h"
#include "db/cli/training.h"
#include "db/exchange.h"
#include "db/lookup.h"
#include "db/package/hooks.h"
#include "db/store.h"
#include "db/team/remote_hub.h"

namespace hone {
class CommandLine;
}

namespace hone::db {

/// A command that the program has beside those of this folder.
struct MoreCommand {
  std::string name, text;                       ///< as in CommandLine::add_command()
  std::function<void(CommandLine&)> add_flags;  ///< its own
  /// Once they are read. `db`: the value of --db; empty: not given.
  std::function<Status(const std::string& db, std::ostream& out)> run;
};

/// Functions of the compiler and the tuner, which db/ does not know. Each may be empty.
struct CompilerHooks {
  /// Canonical workload text of --task and --args for a canonical target. Empty: --task is answered with --workload's
  /// name.
  std::function<StatusOr<std::string>(const std::string& task, const std::string& args, const std::string& target)>
      workload;
  /// The tasks there are, for help texts. Empty: not known.
  std::string tasks;
  /// Canonical text of a --workload and of a --target. Empty: taken as they are.
  std::function<StatusOr<std::string>(const std::string& workload)> parse_workload;
  std::function<StatusOr<std::string>(const std::string& target)> target;
  /// Known workloads worth trying in place of `workload`, nearest first. Empty: no nearest step.
  std::function<std::vector<std::string>(const std::string& workload, const std::vector<std::string>& known)>
      rank_nearest;
  /// A best in words. Empty: its config is shown as it is stored.
  DescribeBest describe;
  /// The width of the terminal that the results go to; 0: it is no terminal, and lines are not cut.
  size_t columns = 0;
  /// The meaning of another tuner's record. Empty: such records are kept without one.
  ForeignMapper foreign;
  /// Why a prior's model cannot be taken. Empty: every one is.
  PriorCheck check_prior;
  /// Gives the command line flags that only the program has (--version). Empty: nothing.
  std::function<void(CommandLine&)> add_flags;
  /// The input of `import -`. Null: stdin.
  std::istream* in = nullptr;
  /// Signatures and the network, for packages.
  PackageHooks packages;
  /// A team's tophub: gives the command line its flags; the client and the source of lookups that these name, null
  /// where they name none. Empty: there is no team.
  std::function<void(CommandLine&)> add_team_flags;
  std::function<StatusOr<std::pair<std::shared_ptr<RemoteHub>, std::shared_ptr<Source>>>()> open_team;
  /// Every row that a build comes across for a canonical workload and target. Empty: `why` is refused.
  std::function<StatusOr<std::vector<Candidate>>(const std::string& workload, const std::string& target, TopHub& hub)>
      candidates;
  /// Makes a prior of a store's trials for a target kind. Too few trials are a usage error.
  std::function<StatusOr<Training>(Store& store, const std::string& target_kind)> train;
  /// Commands that db/ knows nothing of.
  std::vector<MoreCommand> commands;
};

/// Runs `tophub ...`: results to `out`. `options`: of the command, as set_options() takes them.
CommandEnd run_tophub(const std::vector<std::string>& words, const std::vector<Json>& options,
                      const CompilerHooks& hooks, std::ostream& out);
/// The same for the program: errors to stderr. The exit code.
int tophub_main(int argc, const char* const* argv, const CompilerHooks& hooks, std::ostream& out);

}  // namespace hone::db
