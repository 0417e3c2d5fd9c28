#include "tuner/cli/next_commands.h"

#include <fmt/format.h>

#include "base/shell_command.h"
#include "compiler/cli/model_flags.h"
#include "tuner/cli/fleet_flags.h"

namespace hone {
namespace {

// Where it was tuned, and by what database: tuner and tensorc have the same flags for it.
void add_place(ShellCommand& command, const TunerFlags& f) {
  command.option("--tracker", f.tracker).option("--device", f.device).options("--label", f.labels);
  for (const auto& [flag, file] : credential_files(f)) command.option(flag, file);
  command.flag("--insecure", f.insecure);
  if (f.team_flags.url) command.option("--tophub", *f.team_flags.url);
  command.options("--trust-tenant", f.team_flags.trusted);
  if (f.threads > 0) command.option("--threads", std::to_string(f.threads));
  command.option("--db", f.db);
}

// Adds the flags about a model that tuner and tensorc share.
void add_model(ShellCommand& command, const TunerFlags& f) {
  add_words(command, f);
  if (f.target != TunerFlags{}.target) command.option("--target", f.target);
}

// Numbers and words of the search that are not the usual ones.
void add_search(ShellCommand& command, const TunerFlags& f) {
  const TunerFlags usual;
  const auto add = [&](const std::string& flag, auto value, auto usual_value) {
    if (value != usual_value) command.option(flag, fmt::format("{}", value));
  };
  add("--trials", f.trials, usual.trials);
  add("--stop-after", f.stop_after, usual.stop_after);
  add("--search", f.search, usual.search);
  add("--seed", f.seed, usual.seed);
  add("--batch", f.batch, usual.batch);
  add("--timeout", f.timeout, usual.timeout);
  add("--repeat", f.repeat, usual.repeat);
  add("--min-repeat-ms", f.min_repeat_ms, usual.min_repeat_ms);
  add("--weight", f.weight, usual.weight);
  add("--priority", f.priority, usual.priority);
  if (!f.warm_start) command.option("--warm-start", "off");
}

}  // namespace

std::string operator_build_command(const TunerFlags& f, const Workload& tuned) {
  ShellCommand command("tensorc");
  command.option("--task", tuned.operator_name()).option("--args", f.task.empty() ? args_of(tuned) : f.args);
  command.option("--target", f.target);
  add_place(command, f);
  return command.flag("--bench").text();
}

std::string model_build_command(const TunerFlags& f) {
  ShellCommand command = build_command(f);
  command.option("--calibrate", f.quantize.calibrate);
  add_model(command, f);
  add_place(command, f);
  return command.text();
}

std::string resume_command(const TunerFlags& f) {
  ShellCommand command("tuner");
  command.flag("--confirm", f.confirm).option("--model", f.model).option("--ranges", f.quantize.calibrate);
  add_model(command, f);
  add_place(command, f);
  add_search(command, f);
  command.option("--plot", f.plot).flag("--json", f.json);
  return command.option("--seconds", fmt::format("{}", f.seconds)).text();
}

std::string sync_command(const TunerFlags& f, const std::string& hub, const std::string& db) {
  ShellCommand command("tophub sync");
  command.option("--tophub", hub);
  for (const auto& [flag, file] : credential_files(f)) command.option(flag, file);
  return command.flag("--insecure", f.insecure).option("--db", db).text();
}

}  // namespace hone
