// The search on recorded spaces: trials to come within 5% and 1% of the best, per searcher; and how well the model
// ranks. No device: the same recordings, the same table.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "base/cli.h"
#include "base/log.h"
#include "db/rows.h"
#include "tests/bench/record_space.h"
#include "tests/replay/replay_search.h"

namespace {

using namespace hone;
using namespace hone::replay;

constexpr size_t kPriorRows = 800;  // of each recording
constexpr size_t kAccuracyTrials = 64;

struct Options {
  std::vector<std::string> record, refresh, spaces, searchers{"xgb", "prior", "random"};
  std::string work = "/tmp/hone-recordings";
  double seconds = 0;
  size_t seeds = 20, trials = 1000, batch = 16;
  bool held_out = false, developed = false, accuracy = false;
};

StatusOr<const ReplaySpace*> find_space(const std::string& name) {
  for (const ReplaySpace& s : replay_spaces())
    if (s.name == name) return &s;
  return usage_error(fmt::format("no space is called '{}'", name));
}

std::string path_of(const std::string& name) { return fmt::format("{}/{}.json.zst", recordings_folder(), name); }

Status record(const Options& o) {
  for (const std::string& name : o.record) {
    HONE_ASSIGN_OR_RETURN(const ReplaySpace* space, find_space(name));
    std::filesystem::create_directories(o.work);
    HONE_ASSIGN_OR_RETURN(const Recording r, record_space(*space, fmt::format("{}/{}.db", o.work, name), o.seconds));
    HONE_RETURN_IF_ERROR(save(r, path_of(name)));
    std::cout << fmt::format("{}: {} configs recorded\n", name, r.configs.size());
  }
  return absl::OkStatus();
}

Status refresh(const Options& o) {
  for (const std::string& name : o.refresh) {
    HONE_ASSIGN_OR_RETURN(const ReplaySpace* space, find_space(name));
    HONE_ASSIGN_OR_RETURN(Recording r, load_recording(path_of(name), false));
    HONE_RETURN_IF_ERROR(refresh_features(*space, &r));
    HONE_RETURN_IF_ERROR(save(r, path_of(name)));
  }
  return absl::OkStatus();
}

double median(std::vector<double> v) { return db::median_of(std::move(v)); }

// Nothing found counts as one more than all trials.
double or_most(size_t trials, size_t most) { return static_cast<double>(trials > 0 ? trials : most + 1); }

class Table {
 public:
  explicit Table(const Options& options) : o_(options) {}

  Status load() {
    for (const ReplaySpace& s : replay_spaces()) {
      if (!std::filesystem::exists(path_of(s.name))) {
        if (o_.spaces.empty())
          std::cerr << fmt::format("{} is not recorded: bench_search --record {}\n", s.name, s.name);
        continue;
      }
      HONE_ASSIGN_OR_RETURN(Recording r, load_recording(path_of(s.name)));
      spaces_.push_back({&s, std::make_unique<ReplayedSpace>(std::move(r))});
    }
    return absl::OkStatus();
  }

  Status run() {
    std::cout << fmt::format("{:4} {:>8} {:>7} {:>7}", "", "configs", "<5%", "<1%");
    for (const std::string& name : o_.searchers)
      std::cout << fmt::format(" {:>16}", o_.accuracy ? name + " pair/1/5" : name + " 5% 1%");
    std::cout << std::endl;
    for (const Entry& e : spaces_) {
      if (!o_.spaces.empty() && std::find(o_.spaces.begin(), o_.spaces.end(), e.space->name) == o_.spaces.end())
        continue;
      if ((o_.held_out && !e.space->held_out) || (o_.developed && e.space->held_out)) continue;
      HONE_RETURN_IF_ERROR(row(e));
    }
    return absl::OkStatus();
  }

 private:
  struct Entry {
    const ReplaySpace* space;
    std::unique_ptr<ReplayedSpace> replayed;
  };

  // On all other recordings; for a space to develop on, on the other spaces to develop on only.
  StatusOr<std::string> prior_for(const Entry& e) {
    std::vector<PriorGroup> groups;
    for (const Entry& other : spaces_)
      if (&other != &e && (e.space->held_out || !other.space->held_out))
        groups.push_back(prior_group(other.replayed->recording(), kPriorRows));
    return train_prior(groups, kFeatureCount);
  }

  Status row(const Entry& e) {
    const ReplayedSpace& s = *e.replayed;
    const double all = static_cast<double>(s.recording().configs.size());
    std::cout << fmt::format("{:4} {:8} {:6.2f}% {:6.2f}%", e.space->name, all,
                             100 * static_cast<double>(s.within(0.05)) / all,
                             100 * static_cast<double>(s.within(0.01)) / all)
              << std::flush;
    for (const std::string& name : o_.searchers) {
      ReplayOptions run;
      const bool with_prior = name == "prior" || name == "random+prior";
      run.searcher = name == "prior" ? "xgb" : name == "random+prior" ? "random" : name;
      if (with_prior) {
        HONE_ASSIGN_OR_RETURN(run.prior, prior_for(e));
      }
      run.batch = o_.batch;
      const bool guided = run.searcher == "xgb" || run.searcher == "anneal";
      run.trials = o_.accuracy ? kAccuracyTrials : guided ? o_.trials : s.recording().configs.size();
      run.stop_when_found = !o_.accuracy;
      std::vector<double> five, one, pairwise, peak1, peak5;
      for (size_t seed = 0; seed < o_.seeds; ++seed) {
        run.seed = seed;
        HONE_ASSIGN_OR_RETURN(const ReplayOutcome out, replay_search(s, run));
        five.push_back(or_most(out.within5, run.trials));
        one.push_back(or_most(out.within1, run.trials));
        pairwise.push_back(out.accuracy.pairwise.value_or(0)), peak1.push_back(out.accuracy.peak1.value_or(0)),
            peak5.push_back(out.accuracy.peak5.value_or(0));
      }
      if (o_.accuracy)
        std::cout << fmt::format("   {:.2f} {:.2f} {:.2f}", median(pairwise), median(peak1), median(peak5))
                  << std::flush;
      else
        std::cout << fmt::format(" {:>8} {:>7}", median(five), median(one)) << std::flush;
    }
    std::cout << std::endl;
    return absl::OkStatus();
  }

  const Options& o_;
  std::vector<Entry> spaces_;
};

}  // namespace

int main(int argc, char** argv) {
  init_log("bench_search");
  Options o;
  CommandLine line(
      "Example: bench_search --seeds 20\n\nReplays searches on the recorded spaces: median trials until one is within "
      "5% and 1% of the best.",
      "bench_search");
  line.add_option("--spaces", o.spaces, "only these");
  line.add_flag("--held-out", o.held_out, "only the spaces that no constant was chosen by");
  line.add_flag("--developed", o.developed, "only the others");
  line.add_option("--searchers", o.searchers,
                  "prior: xgb with a prior trained on the other recordings; random+prior: for --accuracy, a model that "
                  "saw random trials")
      .capture_default_str();
  line.add_option("--seeds", o.seeds, "searches of each").capture_default_str();
  line.add_option("--trials", o.trials, "of a guided search at most").capture_default_str();
  line.add_option("--batch", o.batch, "candidates per batch").capture_default_str();
  line.add_flag("--accuracy", o.accuracy, "after 64 trials, on all other configs: pairwise accuracy, peak@1, peak@5");
  line.add_option("--record", o.record, "measure these spaces on this machine and write their recordings");
  line.add_option("--work", o.work, "where the trials of recordings are kept until they are complete")
      .capture_default_str();
  line.add_option("--seconds", o.seconds, "of measuring, for each space to be recorded; the same command goes on");
  line.add_option("--refresh", o.refresh, "compute the features of these recordings again");
  return run_cli(line, argc, argv, [&]() -> Status {
    if (!o.record.empty()) return record(o);
    if (!o.refresh.empty()) return refresh(o);
    Table table(o);
    HONE_RETURN_IF_ERROR(table.load());
    return table.run();
  });
}
