// The program tensorc: the compiler's command line, and a fleet's devices to check and time on. It stands here since
// the compiler knows no tracker.
#include <iostream>

#include "base/exit_code.h"
#include "base/log.h"
#include "base/version/version.h"
#include "compiler/cli/tensorc_flags.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "tuner/cli/fleet_flags.h"
#include "tuner/driver/fleet_device.h"

int main(int argc, char** argv) {
  using namespace hone;
  CLI::App app;
  TensorcOptions o;
  TuneRequest fleet;
  const OperatorTable operators = standard_operators();
  add_tensorc_flags(app, operators, o);
  add_fleet_flags(
      app, fleet,
      "check, bench and profile on a device of this tracker, HOST:PORT or unix:PATH; a model layer by layer");
  set_tensorc_help(app);
  const CLI::App* const run = add_run_command(app, o);
  add_version(app, &compiler_line);
  init_log("tensorc");
  return run_cli(app, argc, argv, [&]() -> Status {
    if (run->parsed()) return run_tensorc(operators, o, std::cout, std::cerr);
    o.read_before = credential_files(fleet);
    o.read_before.emplace_back(kFlagsFile, flags_file(app));
    if (!(fleet.tracker + fleet.credentials.fleet).empty()) {
      o.remote = [&fleet](const std::string& target, int threads) {
        fleet.target = target, fleet.threads = threads;
        return find_fleet_device(fleet);
      };
    } else if (const auto& c = fleet.credentials;
               !(fleet.device + c.ca + c.certificate + c.key + c.token).empty() || !fleet.labels.empty()) {
      return usage_error("--device, --label, --tls-* and --token-file are of a fleet: give --fleet or --tracker too");
    }
    return run_tensorc(operators, o, std::cout, std::cerr);
  });
}
