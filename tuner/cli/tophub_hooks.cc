#include "tuner/cli/tophub_hooks.h"

#include <chrono>
#include <memory>
#include <optional>

#include "base/check.h"
#include "base/cpus.h"
#include "base/exit_code.h"
#include "compiler/build/build.h"
#include "compiler/build/choose_config.h"
#include "compiler/build/config_words.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/codegen/llvm/machine/parse_target.h"
#include "compiler/ops/extremes.h"
#include "tuner/cli/package_hooks.h"
#include "tuner/cli/team_flags.h"
#include "tuner/cost/check_model.h"
#include "tuner/features/features.h"
#include "tuner/transfer/seeds.h"
#include "tuner/transfer/train.h"

namespace hone {
namespace {

// A UserError of the compiler as the one line that the program prints.
template <class F>
StatusOr<std::string> text_or_usage_error(const F& f) {
  try {
    return f();
  } catch (const UserError& e) {
    return usage_error(e.what());
  }
}

Target this_machine() { return host_target(usable_cpu_count()); }

int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

db::CompilerHooks tophub_hooks(const OperatorTable& operators) {
  db::CompilerHooks hooks;
  hooks.tasks = operators.names();
  hooks.workload = [&operators](const std::string& task, const std::string& args, const std::string&) {
    return text_or_usage_error([&] { return to_string(without_extremes(Workload::parse(operators, task, args))); });
  };
  hooks.parse_workload = [&operators](const std::string& workload) {
    return text_or_usage_error([&] { return to_string(without_extremes(Workload::parse(operators, workload))); });
  };
  // `llvm` alone means this machine; a GPU's target is taken as it is given.
  hooks.target = [](const std::string& target) {
    return text_or_usage_error([&] {
      const Target parsed = parse_target(target);
      return to_string(parsed.kind == "llvm" ? parsed.completed_by(this_machine()) : parsed);
    });
  };
  hooks.rank_nearest = [&operators](const std::string& workload, const std::vector<std::string>& known) {
    return rank_nearest(Workload::parse(operators, workload), known);
  };
  hooks.describe = [&operators](const db::BestRow& row) -> db::BestInWords {
    db::BestInWords out;
    try {
      const Workload workload = Workload::parse(operators, row.workload);
      if (row.seconds > 0) out.gflops = flops(workload) / row.seconds * 1e-9;
      const ConfigWords words = config_words(workload, Target::parse(row.target), row.config, row.space);
      out.name = words.name;
      out.config = words.all;
    } catch (const UserError&) {  // of an operator that this program does not have
    }
    return out;
  };
  hooks.foreign = [&operators,
                   reader = std::make_shared<std::optional<ForeignReader>>()](const db::ForeignRow& record) {
    if (!*reader) reader->emplace(operators, this_machine());
    return (**reader)(record);
  };
  // A prior of another feature schema cannot be checked here, but a program that knows the schema may still ask for it.
  hooks.check_prior = [](const db::PriorRow& prior) {
    const bool known = prior.schema == feature_schema(feature_set(prior.target_kind)).hex();
    return check_model(prior.model, known ? kFeatureCount : 0);
  };
  hooks.candidates = [&operators](const std::string& workload, const std::string& target,
                                  db::TopHub& hub) -> StatusOr<std::vector<db::Candidate>> {
    try {
      const Workload w = Workload::parse(operators, workload);
      const Target t = Target::parse(target);
      return candidates(w, t, make_space(w, t), hub);
    } catch (const UserError& e) {
      return usage_error(e.what());
    }
  };
  const auto flags = std::make_shared<TeamFlags>();
  hooks.add_team_flags = [flags](CommandLine& line) { add_team_access_flags(line, *flags); };
  hooks.open_team = [flags]() -> StatusOr<std::pair<std::shared_ptr<db::RemoteHub>, std::shared_ptr<db::Source>>> {
    HONE_ASSIGN_OR_RETURN(const Team team, open_team(*flags, flags->credentials, flags->insecure));
    return std::pair(team.hub, team.source);
  };
  hooks.train = [&operators](db::Store& store, const std::string& target_kind) {
    TrainOptions options;
    options.operators = operators;
    options.target_kind = target_kind;
    options.now_ms = unix_ms();
    return train_from(store, options);
  };
  hooks.packages = package_hooks();
  hooks.packages.program = "hone " + hone_version();
  return hooks;
}

}  // namespace hone
