// The fleet benchmark: how much the tracker takes, in process and over loopback, and how it shares.
#include <fmt/format.h>

#include <iostream>
#include <map>

#include "base/cli.h"
#include "base/log.h"
#include "tests/bench/fleet_parts.h"

int main(int argc, char** argv) {
  using namespace hone;
  init_log("bench_fleet");
  bench::FleetFlags flags;
  std::vector<std::string> only;
  const std::map<std::string, Status (*)(const bench::FleetFlags&)> parts = {{"in-process", &bench::measure_in_process},
                                                                             {"loopback", &bench::measure_loopback},
                                                                             {"idle", &bench::measure_idle},
                                                                             {"fair", &bench::measure_fair},
                                                                             {"recovery", &bench::measure_recovery},
                                                                             {"killed", &bench::measure_killed}};
  std::vector<std::string> names;
  for (const auto& [name, part] : parts) names.push_back(name);
  CommandLine line("Example: bench_fleet loopback --seconds 20", "bench_fleet");
  line.add_option("PART", only, "what to measure (default: all)").check(text_from(names));
  line.add_flag("--plain", flags.plain, "without TLS and tokens");
  line.add_option("--seconds", flags.seconds, "of each rate").capture_default_str().check(number_from(0.1, 3600.0));
  line.add_option("--agents", flags.agents, "simulated agents of the loopback part").capture_default_str();
  line.add_option("--idle-agents", flags.idle_agents, "of the idle part").capture_default_str();
  line.add_option("--payload", flags.payload, "bytes of a job").capture_default_str();
  line.add_option("--seed", flags.seed).capture_default_str();
  return run_cli(line, argc, argv, [&]() -> Status {
    for (const std::string& name : only.empty() ? names : only) HONE_RETURN_IF_ERROR(parts.at(name)(flags));
    return absl::OkStatus();
  });
}
