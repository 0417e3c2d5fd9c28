// The program tophub.
#include <csignal>
#include <iostream>

#include "base/log.h"
#include "base/terminal.h"
#include "base/version/version.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "tuner/cli/tophub_fleet.h"
#include "tuner/cli/tophub_hooks.h"

int main(int argc, char** argv) {
  hone::init_log("tophub");
  std::signal(SIGXFSZ, SIG_IGN);  // a database that may not grow is an error to report, not an end
  const hone::OperatorTable operators = hone::standard_operators();
  hone::db::CompilerHooks hooks = hone::tophub_hooks(operators);
  hooks.packages.program = hone::version_line("tophub");
  hooks.columns = hone::terminal_columns(STDOUT_FILENO);
  hooks.add_flags = [](hone::CommandLine& line) { hone::add_version(line, &hone::compiler_line); };
  hone::add_fleet_commands(hooks);
  return hone::db::tophub_main(argc, argv, hooks, std::cout);
}
