// How much a busy neighbour changes the records of a session: its records are measured again on the quiet machine, and
// its confirmed best is compared with that of a session that was never disturbed. The neighbour comes and goes, or
// stays throughout; then records must be marked as disturbed, and a quiet session on the same tophub must confirm it
// again.
//
// bench_neighbour --cores 1,2                                on and off, on one core and on two
// bench_neighbour --throughout --cores 1                     all the time, computing
// bench_neighbour --throughout --memory --cores 1            all the time, reading and writing memory
// bench_neighbour --throughout --memory --cores 1 --threads 1   the same beside candidates that use another core
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

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
#include "base/time_text.h"
#include "compiler/runtime/thread_pool.h"
#include "db/store.h"
#include "tests/fakes/workloads.h"
#include "tuner/cli/tune.h"
#include "tuner/session/session.h"

namespace {

using namespace hone;

[[noreturn]] void spin(int cpu) {
  pin_this_thread(cpu);
  for (volatile uint64_t n = 0;;) n = n + 1;
}

[[noreturn]] void stream(int cpu) {
  pin_this_thread(cpu);
  std::vector<uint64_t> data(size_t{1} << 24);  // 128 MiB, beyond any cache
  for (;;)
    for (size_t i = 0; i < data.size(); i += 8) asm volatile("" : : "r"(++data[i]) : "memory");
}

enum class Manner : uint8_t { kComputes, kStreams };

// One busy process on each of the last `cores` cores, all on or all off, for 0.1 to 2 seconds at a time, or on
// `throughout`.
class Neighbour {
 public:
  Neighbour(size_t cores, Manner manner, bool throughout, uint64_t seed) {
    const std::vector<int> cpus = allowed_cpus();
    for (size_t i = 0; i < std::min(cores, cpus.size()); ++i) {
      ChildOptions options;
      options.argv = {std::filesystem::read_symlink("/proc/self/exe"),
                      manner == Manner::kStreams ? "--stream" : "--spin", std::to_string(cpus[cpus.size() - 1 - i])};
      StatusOr<ChildProcess> child = ChildProcess::spawn(options);
      if (child.ok()) children_.push_back(*std::move(child));
    }
    if (!throughout) thread_ = std::thread([this, seed] { toggle(seed); });
  }
  ~Neighbour() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    ended_.notify_all();
    if (thread_.joinable()) thread_.join();
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
      // The default goes first anyway.
      if (text != space.print(space.default_config())) rest_.push_back({space.parse(text), std::nullopt});
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

// The records that a session stored.
struct Records {
  std::map<std::string, db::TrialRow> trials, confirmed;  ///< by config, those that are ok
  std::optional<db::BestRow> stored;                      ///< the tophub's answer
  std::string fallback;                                   ///< the default's config
  const db::TrialRow* best() const {
    const auto at = stored ? confirmed.find(stored->config) : confirmed.end();
    return at == confirmed.end() ? nullptr : &at->second;
  }
};

StatusOr<Records> run_session(TunerFlags flags, const std::string& folder, const std::string& name) {
  flags.db = folder + "/" + name + ".db";
  std::ostringstream report;
  size_t trials = 0;
  double seconds = 0;
  HONE_RETURN_IF_ERROR(tune(test_operators(), flags,
                            {report, report, false, [] { return 0; },
                             [&](const SessionOutcome& o) {
                               trials = o.trials;
                               seconds = o.accounting.total;
                             }}));
  HONE_ASSIGN_OR_RETURN(const auto store, db::open_for_reading(flags.db));
  HONE_ASSIGN_OR_RETURN(const std::vector<db::TrialRow> rows, store->trials().list({}));
  HONE_ASSIGN_OR_RETURN(const std::vector<db::BatchRow> batches, store->trials().batches({}));
  HONE_ASSIGN_OR_RETURN(const std::vector<db::BestRow> bests, store->best().list());
  int64_t drifted = 0;
  for (const db::BatchRow& b : batches) drifted += b.drifted;
  Records out;
  if (!bests.empty()) out.stored = bests[0];
  if (!rows.empty()) out.fallback = rows[0].config;  // it goes first
  double run = 0;
  size_t disturbed = 0;
  for (const db::TrialRow& row : rows) {
    if (row.status != "ok") continue;
    disturbed += row.disturbed && !row.confirmed;
    if (!row.confirmed) run += row.phases.run;
    (row.confirmed ? out.confirmed : out.trials)[row.config] = row;
  }
  std::cout << fmt::format("{:24} {} trials in {:.1f} s, run {:.1f} ms a trial, {} drifted, {} marked", name + ":",
                           trials, seconds, 1e3 * run / static_cast<double>(std::max<size_t>(1, trials)), drifted,
                           disturbed);
  if (out.stored) std::cout << fmt::format(", best {} ms ({})", ms_text(out.stored->seconds), out.stored->standing());
  std::cout << std::endl;
  return out;
}

std::string list(const db::TrialRow& row) {
  std::string text = row.censored ? "(at least" : "(of";
  for (const double t : row.times) text += " " + ms_text(t);
  return text + ")";
}

// The shares of records that the quiet machine contradicts; two lower bounds cannot be compared.
void compare(const Records& stored, const Records& again) {
  size_t compared = 0, off = 0, marked = 0;
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
      marked += row.disturbed;
      std::cout << fmt::format("  {} ms {} -> {} ms {}\n", ms_text(*row.seconds), list(row), ms_text(*other.seconds),
                               list(other));
    }
    worst = std::max(worst, factor);
  }
  std::cout << fmt::format(
      "  off by more than 1.3x: {} of {} records ({:.1f}%), {} of them marked as disturbed; the worst by {:.2f}x\n",
      off, compared, 100.0 * static_cast<double>(off) / static_cast<double>(std::max<size_t>(1, compared)), marked,
      worst);
}

void compare_best(const Records& quiet, const Records& stored, const Records& again) {
  const db::TrialRow *there = quiet.best(), *here = stored.best();
  if (!there || !here) return;
  std::cout << fmt::format("  confirmed best {:+.1f}% from the quiet session's",
                           100 * (*here->seconds / *there->seconds - 1));
  const auto confirmed = again.confirmed.find(here->config);
  const auto trial = again.trials.find(here->config);
  const db::TrialRow* now = confirmed != again.confirmed.end() ? &confirmed->second
                            : trial != again.trials.end()      ? &trial->second
                                                               : nullptr;
  if (now)
    std::cout << fmt::format("; the same config measured again: {:+.1f}%", 100 * (*here->seconds / *now->seconds - 1));
  std::cout << std::endl;
}

std::string ms_of(const Records& records, const std::string& config) {
  const auto at = records.confirmed.find(config);
  return at == records.confirmed.end() ? "no" : ms_text(*at->second.seconds);
}

// Measures the same configs anew, on a tophub of their own.
StatusOr<Records> measure_again(const TunerFlags& flags, const Records& records, const std::string& folder,
                                const std::string& name) {
  TunerFlags replay = flags;
  std::vector<std::string> configs;
  for (const auto& [config, row] : records.trials) configs.push_back(config);
  replay.trials = configs.size();
  replay.make_searcher = [configs](const Space& space) { return std::make_unique<Replay>(space, configs); };
  return run_session(replay, folder, name + ", again");
}

// The neighbour's session, then a quiet one that resumes it with nothing left to measure; records that were not marked
// as disturbed must then be right.
Status run_throughout(const TunerFlags& flags, size_t cores, Manner manner, const Records& quiet,
                      const std::string& folder) {
  const std::string name = fmt::format("{}on {} throughout", manner == Manner::kStreams ? "memory " : "", cores);
  StatusOr<Records> busy = Records();
  {
    const Neighbour neighbour(cores, manner, true, flags.seed);
    busy = run_session(flags, folder, name);
  }
  HONE_RETURN_IF_ERROR(busy.status());
  if (!busy->stored) return absl::OkStatus();
  const db::BestRow& best = *busy->stored;
  std::cout << fmt::format(
      "  stored: best {} ms, default {} ms, {}{}\n", ms_text(best.seconds), ms_of(*busy, busy->fallback),
      best.standing(), best.of_default() ? fmt::format(", {:.3f} of the default beside it", *best.of_default()) : "");
  HONE_ASSIGN_OR_RETURN(const Records later, run_session(flags, folder, name));  // the same file
  if (!later.stored) return absl::OkStatus();
  std::cout << fmt::format("  a quiet session on the same tophub: best {} ms, default {} ms, {}; {}\n",
                           ms_text(later.stored->seconds), ms_of(later, later.fallback), later.stored->standing(),
                           later.stored->config == best.config ? "the same config" : "another config");
  if (quiet.stored)
    std::cout << fmt::format(
        "  that is {:+.1f}% from the best of the session that was quiet throughout ({} ms); the disturbed time was "
        "{:+.1f}%\n",
        100 * (later.stored->seconds / quiet.stored->seconds - 1), ms_text(quiet.stored->seconds),
        100 * (best.seconds / later.stored->seconds - 1));
  HONE_ASSIGN_OR_RETURN(const Records again, measure_again(flags, *busy, folder, name));
  compare(*busy, again);
  return absl::OkStatus();
}

struct Shape {
  std::vector<size_t> cores;
  bool throughout = false;
  Manner manner = Manner::kComputes;
};

Status run(const TunerFlags& flags, const Shape& shape, const std::string& folder) {
  HONE_ASSIGN_OR_RETURN(const Records quiet, run_session(flags, folder, "quiet"));
  if (shape.throughout) {
    for (const size_t n : shape.cores) HONE_RETURN_IF_ERROR(run_throughout(flags, n, shape.manner, quiet, folder));
    return absl::OkStatus();
  }
  HONE_ASSIGN_OR_RETURN(const Records quiet_again, measure_again(flags, quiet, folder, "quiet"));
  compare(quiet, quiet_again);  // the machine by itself
  for (const size_t n : shape.cores) {
    const std::string name = n == 1 ? "neighbour on 1 core" : fmt::format("neighbour on {} cores", n);
    StatusOr<Records> stored = Records();
    {
      const Neighbour neighbour(n, shape.manner, false, flags.seed + 1);
      stored = run_session(flags, folder, name);
    }
    HONE_RETURN_IF_ERROR(stored.status());
    HONE_ASSIGN_OR_RETURN(const Records measured_again, measure_again(flags, *stored, folder, name));
    compare(*stored, measured_again);
    compare_best(quiet, *stored, measured_again);
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--spin") spin(std::atoi(argv[2]));
  if (argc == 3 && std::string(argv[1]) == "--stream") stream(std::atoi(argv[2]));
  init_log("bench_neighbour");
  TunerFlags flags;
  flags.trials = 200;
  flags.workload = "conv2d(n=1,ci=128,h=28,w=28,co=128,kh=3,kw=3,stride=1,pad=1)";  // C6
  Shape shape{{1, allowed_cpus().size()}};
  bool memory = false;
  CommandLine line("Example: bench_neighbour --trials 200 --cores 1,2", "bench_neighbour");
  line.add_option("--trials", flags.trials, "candidates to measure in each session").capture_default_str();
  line.add_option("--workload", flags.workload, "what to tune").capture_default_str();
  line.add_option("--search", flags.search, "the searcher").capture_default_str();
  line.add_option("--seed", flags.seed, "of the search and the neighbour").capture_default_str();
  line.add_option("--cores", shape.cores,
                  "a session for each: cores that the neighbour keeps busy, the last ones first")
      .delimiter(',');
  line.add_flag("--throughout", shape.throughout,
                "the neighbour stays on: is what is stored marked, and confirmed again by a quiet session?");
  line.add_flag("--memory", memory, "the neighbour reads and writes memory instead of computing");
  line.add_option("--threads", flags.threads, "of candidates (default: all cores)");
  return run_cli(line, argc, argv, [&]() -> Status {
    std::string folder = "/tmp/hone-bench-neighbour-XXXXXX";
    if (!mkdtemp(folder.data())) return usage_error("no folder in /tmp");
    if (memory) shape.manner = Manner::kStreams;
    const Status done = run(flags, shape, folder);
    std::filesystem::remove_all(folder);
    return done;
  });
}
