// A real tuning session with a tracker and an agent of its own: trials a second, and where each trial's time went.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <sstream>

#include <unistd.h>

#include "base/cli.h"
#include "base/log.h"
#include "tests/fakes/workloads.h"
#include "tuner/cli/tune.h"
#include "tuner/session/session.h"

namespace {

using namespace hone;

void print(const SessionOutcome& o) {
  const double n = static_cast<double>(std::max<size_t>(1, o.trials - o.resumed));
  const Accounting& a = o.accounting;
  const auto line = [&](const char* what, double seconds) {
    std::cout << fmt::format("  {:34} {:8.2f} {:8.2f}\n", what, seconds, 1e3 * seconds / n);
  };
  std::cout << fmt::format("{} trials in {:.1f} s: {:.1f} trials/s\n", o.trials - o.resumed, a.total, n / a.total);
  for (const auto& [status, count] : o.by_status) std::cout << fmt::format("  {:34} {:8}\n", status, count);
  std::cout << fmt::format("{:36} {:>8} {:>8}\n", "the tuner's searching thread", "s", "ms/trial");
  line("search, features, prediction", a.propose);
  line("lower, hash", a.prepare);
  line("model update", a.learn);
  std::cout << "the tuner's loop\n";
  line("encode, submit", a.submit);
  line("database", a.store);
  line("all of the above", a.propose + a.prepare + a.learn + a.submit + a.store);
  line("waiting for results", a.wait);
  line("waiting for the searching thread", a.think);
  line("confirming the finalists", a.confirm);
  std::cout << "the device, as it reported\n";
  line("queue (all jobs at once)", a.devices.queue);
  line("transfer", a.devices.transfer);
  line("build", a.devices.build);
  line("check", a.devices.check);
  line("run", a.devices.run);
  line("reference", a.devices.reference);
  line("idle between batches", a.idle);
  std::cout << fmt::format("idle share {:.1f}%; {} of {} batches drifted\n", 100 * a.idle_share(), a.drifted_batches,
                           a.batches);
  const auto share = [](const std::optional<double>& x) { return x ? fmt::format("{:.3f}", *x) : std::string("-"); };
  std::cout << fmt::format("model, on each batch before it was measured: pairwise {}, peak@1 {}, peak@5 {}\n",
                           share(o.accuracy.pairwise), share(o.accuracy.peak1), share(o.accuracy.peak5));
}

}  // namespace

int main(int argc, char** argv) {
  init_log("bench_session");
  TunerFlags flags;
  flags.trials = 200;
  flags.workload = "conv2d(n=1,ci=128,h=28,w=28,co=128,kh=3,kw=3,stride=1,pad=1)";  // C6
  CommandLine line("Example: bench_session --trials 200", "bench_session");
  line.add_option("--trials", flags.trials, "candidates to measure").capture_default_str();
  line.add_option("--workload", flags.workload, "what to tune").capture_default_str();
  line.add_option("--search", flags.search, "the searcher").capture_default_str();
  line.add_option("--batch", flags.batch, "candidates per batch");
  line.add_option("--seed", flags.seed, "of the search").capture_default_str();
  return run_cli(line, argc, argv, [&]() -> Status {
    std::string dir = "/tmp/hone-bench-session-XXXXXX";
    if (!mkdtemp(dir.data())) return usage_error("no folder in /tmp");
    flags.db = dir + "/tophub.db";
    std::ostringstream report;
    const Status done =
        tune(test_operators(), flags, {report, std::cerr, isatty(STDERR_FILENO) != 0, [] { return 0; }, &print});
    std::filesystem::remove_all(dir);
    const std::string text = report.str();
    std::cout << text.substr(0, text.find("database"));  // it is gone
    return done;
  });
}
