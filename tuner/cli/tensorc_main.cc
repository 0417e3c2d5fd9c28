// The program tensorc: the compiler's command line, and a fleet's devices to check and time on. It stands here since
// the compiler knows no tracker.
#include <iostream>

#include "base/log.h"
#include "base/version/version.h"
#include "compiler/cli/tensorc_flags.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "tuner/cli/tensorc_fleet.h"

int main(int argc, char** argv) {
  using namespace hone;
  CLI::App app;
  TensorcOptions o;
  const OperatorTable operators = standard_operators();
  add_tensorc_flags(app, operators, o);
  const TensorcFleet fleet(app);
  set_tensorc_help(app);
  const CLI::App* const run = add_run_command(app, o);
  add_version(app, &compiler_line);
  init_log("tensorc");
  return run_cli(app, argc, argv, [&]() -> Status {
    if (run->parsed()) return run_tensorc(operators, o, std::cout, std::cerr);
    HONE_RETURN_IF_ERROR(fleet.apply(o));
    o.read_before.emplace_back(kFlagsFile, flags_file(app));
    return run_tensorc(operators, o, std::cout, std::cerr);
  });
}
