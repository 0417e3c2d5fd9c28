#include <fmt/format.h>

#include <iostream>
#include <thread>

#include "base/log.h"
#include "tests/bench/bench_sessions.h"
#include "tests/bench/fleet_parts.h"
#include "tests/bench/fleet_tracker.h"
#include "tests/bench/sim_agents.h"
#include "tests/fakes/fake_agent.h"

namespace hone::bench {
namespace {

template <class Condition>
double seconds_until(Condition condition) {
  const int64_t begin = now_ns();
  while (!condition() && now_ns() - begin < int64_t{120'000'000'000})
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return static_cast<double>(now_ns() - begin) * 1e-9;
}

}  // namespace

Status measure_recovery(const FleetFlags& flags) {
  spdlog::set_level(spdlog::level::off);
  HONE_ASSIGN_OR_RETURN(TrackerProcess tracker, TrackerProcess::start(flags.plain));
  const wire::FakePayload job{1e-3, wire::ResultStatus::kOk, {}};
  {
    const wire::ClientOptions dial = tracker.agent();
    wire::FakeAgent a(dial.tracker, "a", 16, false, dial.credentials),
        b(dial.tracker, "b", 16, false, dial.credentials);
    BenchSession session(tracker.session(), bench_open("recovery"), job, 64);
    double worst = 0, sum = 0;
    constexpr int kTimes = 5;
    for (int i = 0; i < kTimes; ++i) {
      const uint64_t before = session.done();
      seconds_until([&] { return session.done() > before + 100; });
      HONE_RETURN_IF_ERROR(tracker.restart());
      const uint64_t at = session.done();
      const double seconds = seconds_until([&] { return session.done() > at; });
      sum += seconds;
      worst = std::max(worst, seconds);
    }
    std::cout << fmt::format(
                     "recovery:   tracker killed and started again: next result after {:.2f} s (mean of {}), {:.2f} at "
                     "most\n",
                     sum / kTimes, kTimes, worst)
              << std::flush;
  }
  {
    // Its leases end after the grace for agents that may come back.
    const wire::ClientOptions dial = tracker.agent();
    auto dying = std::make_unique<wire::FakeAgent>(dial.tracker, "dying", 4, /*hold=*/true, dial.credentials);
    BenchSession session(tracker.session(), bench_open("recovery"), job, 4);
    seconds_until([&] { return dying->held() == 4; });
    wire::FakeAgent other(dial.tracker, "other", 16, false, dial.credentials);
    dying.reset();
    std::cout << fmt::format("            agent gone: its jobs are answered by another after {:.2f} s\n",
                             seconds_until([&] { return session.done() >= 4; }))
              << std::flush;
  }
  return absl::OkStatus();
}

}  // namespace hone::bench
