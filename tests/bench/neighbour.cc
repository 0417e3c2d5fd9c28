// How much a busy neighbour, switched on and off during a session, changes what the session stores: its records are measured again on the
// quiet machine, and its confirmed best is compared with that of a session that was never disturbed.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

#include "base/child_process.h"
#include "base/cli.h"
#include "base/log.h"
#include "compiler/runtime/thread_pool.h"
#include "db/store.h"
#include "tuner/cli/tune.h"
#include "tuner/session.h"

namespace {

using namespace hone;

[[noreturn]] void spin(int cpu) {
  pin_this_thread(cpu);
  for (volatile uint64_t n = 0;;) n = n + 1;
}

// One spinning process on each of the first `cores` cores, all on or all off, for 0.1 to 2 seconds at a time.
class Neighbour {
 public:
  Neighbour(size_t cores, uint64_t seed) {
    const std::vector<int> cpus = allowed_cpus();
    for (size_t i = 0; i < std::min(cores, cpus.size()); ++i) {
      ChildOptions options;
      options.argv = {std::filesystem::read_symlink("/proc/self/exe"), "--spin", std::to_string(cpus[i])};
      StatusOr<ChildProcess> child = ChildProcess::spawn(options);
      if (child.ok()) children_.push_back(*std::move(child));
    }
    thread_ = std::thread([this, seed] { toggle(seed); });
  }
  ~Neighbour() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    ended_.notify_all();
    thread_.join();
  }

 private:
  void toggle(uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> seconds(0.1, 2);
    std::unique_lock lock(mutex_);
    for (bool on = true; !over_; on = !on) {
      for (const ChildProcess& c : children_) c.signal(on ? SIGCONT : SIGSTOP);
      ended_.wait_for(lock, std::chrono::duration<double>(seconds(random)), [&] { return over_; });
    }
  }

  std::vector<ChildProcess> children_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread thread_;
};

// Proposes given configs, in their order.
class Replay final : public Searcher {
 public:
  Replay(const Space& space, const std::vector<std::string>& configs) {
    for (const std::string& text : configs)
      if (text != space.print(space.default_config())) rest_.push_back({space.parse(text), std::nullopt});  // the default goes first anyway
    std::reverse(rest_.begin(), rest_.end());
  }
  std::vector<Proposal> propose(size_t n) override {
    std::vector<Proposal> out;
    while (out.size() < n && !rest_.empty()) {
      out.push_back(std::move(rest_.back()));
      rest_.pop_back();
    }
    return out;
  }
  void report(const std::vector<Observation>&) override {}

 private:
  std::vector<Proposal> rest_;
};

// What a session stored.
struct Records {
  std::map<std::string, db::TrialRow> trials, confirmed;  ///< by config, those that are ok
  const db::TrialRow* best() const {
    const db::TrialRow* best = nullptr;
    for (const auto& [config, row] : confirmed)
      if (!best || *row.seconds < *best->seconds) best = &row;
    return best;
  }
};

StatusOr<Records> run_session(TunerFlags flags, const std::string& folder, const std::string& name) {
  flags.db = folder + "/" + name + ".db";
  std::ostringstream report;
  size_t trials = 0;
  double seconds = 0;
  HONE_RETURN_IF_ERROR(tune(flags, {report, report, false, [] { return 0; }, [&](const SessionOutcome& o) {
                                      trials = o.trials;
                                      seconds = o.accounting.total;
                                    }}));
  HONE_ASSIGN_OR_RETURN(const auto store, db::open_for_reading(flags.db));
  HONE_ASSIGN_OR_RETURN(const std::vector<db::TrialRow> rows, store->trials().list({}));
  HONE_ASSIGN_OR_RETURN(const std::vector<db::BatchRow> batches, store->trials().batches({}));
  int64_t drifted = 0;
  for (const db::BatchRow& b : batches) drifted += b.drifted;
  Records out;
  double run = 0;
  for (const db::TrialRow& row : rows) {
    if (row.status != "ok") continue;
    if (!row.confirmed) run += row.phases.run;
    (row.confirmed ? out.confirmed : out.trials)[row.config] = row;
  }
  std::cout << fmt::format("{:24} {} trials in {:.1f} s, run {:.1f} ms a trial, {} drifted", name + ":", trials, seconds, 1e3 * run / static_cast<double>(std::max<size_t>(1, trials)), drifted);
  if (const db::TrialRow* best = out.best()) std::cout << fmt::format(", confirmed best {:.4f} ms", 1e3 * *best->seconds);
  std::cout << std::endl;
  return out;
}

std::string list(const db::TrialRow& row) {
  std::string text = row.censored ? "(at least" : "(of";
  for (const double t : row.times) text += fmt::format(" {:.3f}", 1e3 * t);
  return text + ")";
}

// Shares of the records that the quiet machine contradicts; times of which both are lower bounds say nothing.
void compare(const Records& stored, const Records& again) {
  size_t compared = 0, off = 0;
  double worst = 1;
  for (const auto& [config, row] : stored.trials) {
    const auto found = again.trials.find(config);
    if (found == again.trials.end()) continue;
    const db::TrialRow& other = found->second;
    const double ratio = *row.seconds / *other.seconds;  // above 1: stored too slow
    if (row.censored && (other.censored || ratio < 1)) continue;
    if (other.censored && ratio > 1) continue;
    ++compared;
    const double factor = std::max(ratio, 1 / ratio);
    if (factor > 1.3) {
      ++off;
      std::cout << fmt::format("  {:.4f} ms {} -> {:.4f} ms {}\n", 1e3 * *row.seconds, list(row), 1e3 * *other.seconds, list(other));
    }
    worst = std::max(worst, factor);
  }
  std::cout << fmt::format("  off by more than 1.3x: {} of {} records ({:.1f}%), the worst by {:.2f}x\n", off, compared,
                           100.0 * static_cast<double>(off) / static_cast<double>(std::max<size_t>(1, compared)), worst);
}

void compare_best(const Records& quiet, const Records& stored, const Records& again) {
  const db::TrialRow *there = quiet.best(), *here = stored.best();
  if (!there || !here) return;
  std::cout << fmt::format("  confirmed best {:+.1f}% from the quiet session's", 100 * (*here->seconds / *there->seconds - 1));
  const auto confirmed = again.confirmed.find(here->config);
  const auto trial = again.trials.find(here->config);
  const db::TrialRow* now = confirmed != again.confirmed.end() ? &confirmed->second : trial != again.trials.end() ? &trial->second : nullptr;
  if (now) std::cout << fmt::format("; the same config measured again: {:+.1f}%", 100 * (*here->seconds / *now->seconds - 1));
  std::cout << std::endl;
}

Status run(const TunerFlags& flags, const std::vector<size_t>& cores, const std::string& folder) {
  HONE_ASSIGN_OR_RETURN(const Records quiet, run_session(flags, folder, "quiet"));
  const auto again = [&](const Records& records, const std::string& name) {
    TunerFlags replay = flags;
    std::vector<std::string> configs;
    for (const auto& [config, row] : records.trials) configs.push_back(config);
    replay.trials = configs.size();
    replay.make_searcher = [configs](const Space& space) { return std::make_unique<Replay>(space, configs); };
    return run_session(replay, folder, name + ", again");
  };
  HONE_ASSIGN_OR_RETURN(const Records quiet_again, again(quiet, "quiet"));
  compare(quiet, quiet_again);  // what the machine does by itself
  for (const size_t n : cores) {
    const std::string name = n == 1 ? "neighbour on 1 core" : fmt::format("neighbour on {} cores", n);
    StatusOr<Records> stored = Records();
    {
      const Neighbour neighbour(n, flags.seed + 1);
      stored = run_session(flags, folder, name);
    }
    HONE_RETURN_IF_ERROR(stored.status());
    HONE_ASSIGN_OR_RETURN(const Records measured_again, again(*stored, name));
    compare(*stored, measured_again);
    compare_best(quiet, *stored, measured_again);
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--spin") spin(std::atoi(argv[2]));
  init_log("bench_neighbour");
  TunerFlags flags;
  flags.trials = 200;
  flags.workload = "conv2d(n=1,ci=128,h=28,w=28,co=128,kh=3,kw=3,stride=1,pad=1)";  // C6
  std::vector<size_t> cores = {1, allowed_cpus().size()};
  CLI::App app("Example: bench_neighbour --trials 200 --cores 1,2", "bench_neighbour");
  app.add_option("--trials", flags.trials, "candidates to measure in each session")->capture_default_str();
  app.add_option("--workload", flags.workload, "what to tune")->capture_default_str();
  app.add_option("--search", flags.search, "the searcher")->capture_default_str();
  app.add_option("--seed", flags.seed, "of the search and the neighbour")->capture_default_str();
  app.add_option("--cores", cores, "a session for each: cores that the neighbour keeps busy")->delimiter(',');
  return run_cli(app, argc, argv, [&]() -> Status {
    std::string folder = "/tmp/hone-bench-neighbour-XXXXXX";
    if (!mkdtemp(folder.data())) return usage_error("no folder in /tmp");
    const Status done = run(flags, cores, folder);
    std::filesystem::remove_all(folder);
    return done;
  });
}
