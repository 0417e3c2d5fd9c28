// How long a fleet of the real programs needs to go on, with the tracker's own deadlines: figures to read, and that it
// does go on.
#include <fmt/format.h>

#include <csignal>
#include <iostream>

#include "rpc/wire/messages/fleet_status.h"
#include "tests/e2e/faults/fault_run.h"

namespace hone::e2e {
namespace {

class Recovery : public FaultRun {
 protected:
  // Seconds until `holds`.
  static double time_until(const std::function<bool()>& holds) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(eventually(holds));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  uint64_t results_since_start() const {
    uint64_t sum = 0;
    for (const auto& [status, count] : status().results) sum += count;
    return sum;
  }
  uint32_t leased_by(const std::string& agent) const {
    for (const wire::DeviceStatus& device : status().devices)
      if (device.agent == agent) return device.leased;
    return 0;
  }
};

TEST_F(Recovery, OfATrackerAndOfAnAgent) {
  start_fleet({.agents = 3, .sessions = 1, .jobs = 400'000}, {});
  for (int time = 0; time < 3; ++time) {
    tracker().signal(SIGKILL);
    tracker().wait();
    restart_tracker();
    const double result = time_until([&] { return results_since_start() > 0; });
    std::cout << fmt::format("tracker killed and started again: first result after {:.2f} s\n", result);
    EXPECT_TRUE(
        eventually([&] { return leased_by("agent0") > 0 && leased_by("agent1") > 0 && leased_by("agent2") > 0; }));
  }
  agent(0).signal(SIGKILL);
  agent(0).wait();
  std::cout << fmt::format("agent killed: its leases went to others after {:.2f} s\n",
                           time_until([&] { return leased_by("agent0") == 0; }));
  agent(1).signal(SIGKILL);
  agent(1).wait();
  restart_agent(1);
  std::cout << fmt::format("agent killed and started again: it holds leases again after {:.2f} s\n", time_until([&] {
                             return agent(1).err().find("connected") != std::string::npos && leased_by("agent1") > 0;
                           }));
}

}  // namespace
}  // namespace hone::e2e
