#include <fmt/format.h>
#include <sys/resource.h>

#include <iostream>
#include <thread>

#include "base/log.h"
#include "tests/bench/fleet_parts.h"
#include "tests/bench/fleet_tracker.h"
#include "tests/bench/sim_agents.h"

namespace hone::bench {

Status measure_idle(const FleetFlags& flags) {
  spdlog::set_level(spdlog::level::err);
  // A connection is one descriptor here and one there.
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const uint64_t needed = flags.idle_agents + 200;
  if (files.rlim_cur < needed)
    return absl::FailedPreconditionError(fmt::format("{} idle agents need {} open files, and the limit is {}",
                                                     flags.idle_agents, needed, files.rlim_cur));

  const std::string most = std::to_string(flags.idle_agents + 100);
  HONE_ASSIGN_OR_RETURN(
      const TrackerProcess tracker,
      TrackerProcess::start(flags.plain, flags.plain ? std::vector<std::string>{}
                                                     : std::vector<std::string>{"--max-connections", most,
                                                                                "--max-peer-connections", most}));
  const uint64_t before = tracker.resident_bytes();
  SimOptions options;
  options.dial = tracker.agent();
  options.agents = flags.idle_agents;
  SimAgents agents(options, [](const wire::Lease&) {});
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  const uint32_t connected = agents.connect(600);
  const double seconds = passed();
  const double cpu = tracker.cpu_seconds();
  std::cout << fmt::format(
                   "idle:       {} of {} agents connected in {:.1f} s ({}); the tracker has {:.0f} MiB, {:.0f} before; "
                   "it used {:.1f} s of a core\n",
                   connected, flags.idle_agents, seconds, flags.plain ? "plain" : "TLS",
                   static_cast<double>(tracker.resident_bytes()) / (1 << 20), static_cast<double>(before) / (1 << 20),
                   cpu)
            << std::flush;
  std::this_thread::sleep_for(std::chrono::duration<double>(flags.seconds));
  std::cout << fmt::format("            {:.0f} s later: {} still there, {:.0f} MiB; {:.1f}% of a core\n", flags.seconds,
                           agents.connected() - agents.lost(),
                           static_cast<double>(tracker.resident_bytes()) / (1 << 20),
                           100 * (tracker.cpu_seconds() - cpu) / flags.seconds)
            << std::flush;
  return absl::OkStatus();
}

}  // namespace hone::bench
