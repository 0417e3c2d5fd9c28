// The program tophub: the database's commands, with the compiler's names for workloads and targets, and the tuner's
// training and import.
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>

#include "base/check.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "compiler/build/choose_config.h"
#include "compiler/codegen/llvm/compile.h"
#include "db/cli/commands.h"
#include "tuner/cost/check_model.h"
#include "tuner/features/features.h"
#include "tuner/transfer/seeds.h"
#include "tuner/transfer/train.h"

namespace {

// A UserError of the compiler as the one line that the program prints.
template <class F>
hone::StatusOr<std::string> text_or_usage_error(const F& f) {
  try {
    return f();
  } catch (const hone::UserError& e) {
    return hone::usage_error(e.what());
  }
}

hone::Target this_machine() {
  return hone::host_target(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
}

int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

int main(int argc, char** argv) {
  hone::init_log("tophub");
  std::signal(SIGXFSZ, SIG_IGN);  // a database that may not grow is an error to report, not an end
  const hone::OperatorTable operators = hone::standard_operators();
  hone::db::CompilerHooks hooks;
  hooks.tasks = operators.names();
  hooks.workload = [&operators](const std::string& task, const std::string& args, const std::string&) {
    return text_or_usage_error([&] { return to_string(hone::Workload::parse(operators, task, args)); });
  };
  hooks.parse_workload = [&operators](const std::string& workload) {
    return text_or_usage_error([&] { return to_string(hone::Workload::parse(operators, workload)); });
  };
  // `llvm` alone is this machine.
  hooks.target = [](const std::string& target) {
    return text_or_usage_error([&] { return to_string(hone::Target::parse(target).completed_by(this_machine())); });
  };
  hooks.rank_nearest = [&operators](const std::string& workload, const std::vector<std::string>& known) {
    return hone::rank_nearest(hone::Workload::parse(operators, workload), known);
  };
  hooks.foreign = [&operators, reader = std::make_shared<std::optional<hone::ForeignReader>>()](
                      const hone::db::ForeignRow& record) {
    if (!*reader) reader->emplace(operators, this_machine());
    return (**reader)(record);
  };
  // A prior of another feature schema cannot be checked here, but a program that knows the schema may still ask for it.
  hooks.check_prior = [](const hone::db::PriorRow& prior) {
    const bool known = prior.schema == hone::feature_schema(hone::feature_set(prior.target_kind)).hex();
    return hone::check_model(prior.model, known ? hone::kFeatureCount : 0);
  };
  hooks.train = [&operators](hone::db::Store& store, const std::string& target_kind) {
    hone::TrainOptions options;
    options.operators = operators;
    options.target_kind = target_kind;
    options.now_ms = unix_ms();
    return hone::train_from(store, options);
  };
  return hone::db::tophub_main(argc, argv, hooks, std::cout);
}
