// The program tensorc: the compiler's command line, and a fleet's devices to check and time on. It stands here since
// the compiler knows no tracker.
#include <iostream>

#include "base/cli.h"
#include "base/log.h"
#include "base/version/version.h"
#include "compiler/cli/tensorc_flags.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "tuner/cli/tensorc_fleet.h"

int main(int argc, char** argv) {
  using namespace hone;
  CommandLine line;
  TensorcOptions o;
  const OperatorTable operators = standard_operators();
  add_tensorc_flags(line, operators, o);
  const TensorcFleet fleet(line);
  set_tensorc_help(line);
  add_run_command(line, o);
  add_version(line, &compiler_line);
  init_log("tensorc");
  return run_cli(line, argc, argv, [&]() -> Status {
    if (line.command()) return run_tensorc(operators, o, std::cout, std::cerr);
    HONE_RETURN_IF_ERROR(fleet.apply(o));
    o.read_before.emplace_back(kFlagsFile, flags_file(line));
    return run_tensorc(operators, o, std::cout, std::cerr);
  });
}
