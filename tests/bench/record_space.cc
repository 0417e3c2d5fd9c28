#include "tests/bench/record_space.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "compiler/build/build.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "db/store.h"
#include "tests/fakes/workloads.h"
#include "tuner/cli/tune.h"
#include "tuner/measure/candidate.h"
#include "tuner/measure/core_sharing.h"

namespace hone::replay {
namespace {

constexpr size_t kMostConfigs = 5000;
// Configs that are measured again: those whose repeats disagree, those that a neighbour may have disturbed, and those
// near the best, where the order matters most.
constexpr double kDoubtfulSpread = 0.10, kDoubtfulDrift = 0.04, kNearBest = 1.15;
constexpr int kMeasurements = 3;
// The fastest are measured side by side, to tell which of them is the best.
constexpr size_t kFinalists = 48, kFewFinalists = 24;

// Proposes the configs of a list.
class ListSearcher final : public Searcher {
 public:
  explicit ListSearcher(std::vector<Config> configs) : configs_(std::move(configs)) {}
  std::vector<Proposal> propose(size_t n) override {
    std::vector<Proposal> out;
    for (; out.size() < n && next_ < configs_.size(); ++next_) out.push_back({configs_[next_], std::nullopt});
    return out;
  }
  void report(const std::vector<Observation>&) override {}

 private:
  std::vector<Config> configs_;
  size_t next_ = 0;
};

// The results that are known of one program.
struct Known {
  std::string status, config;
  std::vector<double> seconds;  ///< of each uncensored measurement
  double bound = 0;             ///< of censored ones
  double confirmed = 0;         ///< latest time side by side with the other finalists
  bool doubtful = false;        ///< the latest one
  int measured = 0;
};

using Programs = std::map<std::string, Known>;

bool belongs(const Space& space, const std::string& config) {
  try {
    return space.valid(space.parse(config));
  } catch (const UserError&) {
    return false;
  }
}

// Results that `db` has of the space's programs; other sub-spaces of the workload may be there too.
StatusOr<Programs> programs_in(const std::string& db, const ReplaySpace& s, std::string* target, std::string* device) {
  const std::string workload = to_string(s.workload);
  HONE_ASSIGN_OR_RETURN(const auto store, db::open_for_writing(db));
  HONE_ASSIGN_OR_RETURN(const std::vector<db::TrialRow> rows, store->trials().list({workload, "", "", ""}));
  std::vector<double> sentinels;
  for (const db::TrialRow& r : rows)
    if (r.sentinel_before > 0) sentinels.push_back(r.sentinel_before);
  std::sort(sentinels.begin(), sentinels.end());
  const double quiet = sentinels.empty() ? 0 : sentinels[sentinels.size() / 4];
  std::map<std::string, size_t> finalists;  // of each session: a few are those of the passes before
  for (const db::TrialRow& r : rows) finalists[r.session] += r.confirmed;
  Programs out;
  for (const db::TrialRow& r : rows) {
    *target = r.target, *device = r.device_model;
    if (r.confirmed && finalists[r.session] >= kFewFinalists && r.seconds) out[r.module_hash].confirmed = *r.seconds;
    if (r.confirmed || r.status == "cancelled" || r.status == "device_lost") continue;
    Known& k = out[r.module_hash.empty() ? r.config : r.module_hash];
    k.status = r.status, k.config = r.config;
    ++k.measured;
    if (!r.seconds) continue;
    if (r.censored)
      k.bound = std::max(k.bound, *r.seconds);
    else
      k.seconds.push_back(*r.seconds);
    const bool drifted = quiet > 0 && std::max(r.sentinel_before, r.sentinel_after) > (1 + kDoubtfulDrift) * quiet;
    k.doubtful = !r.censored && (drifted || db::spread_of(r.times) > kDoubtfulSpread);
  }
  if (!target->empty()) {
    const Space space = make_space(s.workload, Target::parse(*target), s.narrowing);
    std::erase_if(out, [&](const auto& entry) { return !belongs(space, entry.second.config); });
  }
  return out;
}

double best_of(const Programs& programs) {
  double best = 1e30;
  for (const auto& [hash, k] : programs)
    if (!k.seconds.empty()) best = std::min(best, *std::min_element(k.seconds.begin(), k.seconds.end()));
  return best;
}

bool wants_more(const Known& k, double best) {
  if (k.seconds.empty() || k.measured >= kMeasurements + 2) return false;
  const size_t wanted = *std::min_element(k.seconds.begin(), k.seconds.end()) < kNearBest * best ? kMeasurements
                        : k.doubtful                                                             ? 2
                                                                                                 : 1;
  return k.seconds.size() < wanted;
}

double fastest(const Known& k) {
  return k.seconds.empty() ? 1e30 : *std::min_element(k.seconds.begin(), k.seconds.end());
}

// Programs by time, at most `n`.
std::vector<const Known*> fastest_of(const Programs& programs, size_t n) {
  std::vector<const Known*> out;
  for (const auto& [hash, k] : programs)
    if (!k.seconds.empty()) out.push_back(&k);
  std::stable_sort(out.begin(), out.end(), [](const Known* a, const Known* b) { return fastest(*a) < fastest(*b); });
  out.resize(std::min(out.size(), n));
  return out;
}

// Finalists were measured while the machine was in one state: how much slower that was than the state of the other
// measurements.
double confirmed_scale(const Programs& programs) {
  std::vector<double> ratios;
  for (const auto& [hash, k] : programs)
    if (k.confirmed > 0 && !k.seconds.empty()) ratios.push_back(fastest(k) / k.confirmed);
  return ratios.empty() ? 1 : db::median_of(ratios);
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%F", std::gmtime(&now));
  return text;
}

// The configs of the space whose programs are not among `programs`.
std::vector<Config> unmeasured(const ReplaySpace& s, const Space& space, const Programs& programs) {
  std::vector<Config> out;
  NoCoreSharing cores;
  const Target target = host_target(static_cast<int>(std::thread::hardware_concurrency()));
  CompiledCandidates candidates(s.workload, target, space, cores);
  ConfigIndex at = 0;
  while (const auto config = space.next_valid(&at)) {
    const auto c = candidates.prepare(*config);
    if (!programs.count(c->error.empty() ? c->hash.hex() : c->config_text)) out.push_back(*config);
  }
  return out;
}

// `again`: with more repeats.
Status run_pass(const ReplaySpace& s, const std::string& db, bool again,
                std::function<std::unique_ptr<Searcher>(const Space&)> searcher, double seconds, size_t finalists = 5) {
  TunerFlags flags;
  flags.workload = to_string(s.workload);
  flags.db = db;
  flags.trials = kMostConfigs + 1000;
  flags.batch = 64;
  flags.narrowing = s.narrowing;
  flags.fresh = true;
  flags.refine = false;
  flags.finalists = finalists;
  flags.repeat = again ? 5 : 3;
  flags.seconds = seconds;
  flags.make_searcher = std::move(searcher);
  std::ostringstream report;
  return tune(test_operators(), flags, {report, std::cerr, isatty(STDERR_FILENO) != 0, [] { return 0; }, nullptr});
}

std::vector<std::string> printed_choices(const Knob& k) {
  std::vector<std::string> out;
  for (int i = 0; i < static_cast<int>(k.choices.size()); ++i) out.push_back(k.text_of(i));
  return out;
}

}  // namespace

StatusOr<Recording> record_space(const ReplaySpace& s, const std::string& db, double seconds) {
  const std::string workload = to_string(s.workload);
  const SteadyClock clock;
  const auto start = clock.now();
  const auto left = [&] { return std::max(1.0, seconds - std::chrono::duration<double>(clock.now() - start).count()); };
  std::string target, device;
  HONE_ASSIGN_OR_RETURN(Programs programs, programs_in(db, s, &target, &device));
  // In random order, so that a change of the machine's state is not taken for a knob's doing.
  const auto missing_ones = [&](const Space& space) {
    std::vector<Config> configs = unmeasured(s, space, programs);
    std::mt19937_64 rng(1);
    for (size_t i = configs.size(); i > 1; --i) std::swap(configs[i - 1], configs[static_cast<size_t>(rng() % i)]);
    return std::make_unique<ListSearcher>(std::move(configs));
  };
  if (target.empty() || !unmeasured(s, make_space(s.workload, Target::parse(target), s.narrowing), programs).empty())
    HONE_RETURN_IF_ERROR(run_pass(s, db, false, missing_ones, seconds > 0 ? left() : 0));
  for (;;) {
    HONE_ASSIGN_OR_RETURN(programs, programs_in(db, s, &target, &device));
    const double best = best_of(programs);
    std::vector<std::string> again;
    for (const auto& [hash, k] : programs)
      if (wants_more(k, best)) again.push_back(k.config);
    if (again.empty()) break;
    if (seconds > 0 && left() <= 1)
      return absl::DeadlineExceededError(
          fmt::format("{}: {} of {} programs are to be measured again", s.name, again.size(), programs.size()));
    std::cerr << fmt::format("{}: {} of {} programs measured again\n", s.name, again.size(), programs.size());
    const auto list = [&](const Space& space) {
      std::vector<Config> configs;
      for (const std::string& text : again)
        if (text != space.print(space.default_config())) configs.push_back(space.parse(text));
      return std::make_unique<ListSearcher>(std::move(configs));
    };
    HONE_RETURN_IF_ERROR(run_pass(s, db, true, list, seconds > 0 ? left() : 0));
  }

  const auto finalists = fastest_of(programs, kFinalists);
  if (std::none_of(finalists.begin(), finalists.end(), [](const Known* k) { return k->confirmed > 0; })) {
    const auto list = [&](const Space& space) {
      std::vector<Config> configs;
      for (const Known* k : finalists)
        if (k->config != space.print(space.default_config())) configs.push_back(space.parse(k->config));
      return std::make_unique<ListSearcher>(std::move(configs));
    };
    HONE_RETURN_IF_ERROR(run_pass(s, db, true, list, 0, kFinalists));
    HONE_ASSIGN_OR_RETURN(programs, programs_in(db, s, &target, &device));
  }
  const double scale = confirmed_scale(programs);

  const Target t = Target::parse(target);
  const Space space = make_space(s.workload, t, s.narrowing);
  Recording r;
  r.name = s.name, r.workload = workload, r.target = target, r.device = device;
  r.template_name = space.template_name(), r.template_revision = space.revision(),
  r.fingerprint = space.fingerprint().hex();
  r.command = fmt::format("bench_search --record {}", s.name), r.version = hone_version(), r.date = today(),
  r.flops = flops(s.workload);
  for (const Knob& k : space.knobs()) r.knobs.push_back({k.name, printed_choices(k), k.default_choice});
  NoCoreSharing cores;
  CompiledCandidates candidates(s.workload, t, space, cores);
  std::map<std::string, int32_t> program_ids;
  size_t missing = 0;
  ConfigIndex at = 0;
  while (const auto config = space.next_valid(&at)) {
    const auto c = candidates.prepare(*config);
    const auto known = programs.find(c->error.empty() ? c->hash.hex() : c->config_text);
    if (known == programs.end()) {
      ++missing;
      continue;
    }
    if (*config == space.default_config()) r.default_config = r.configs.size();
    RecordedConfig& out = r.configs.emplace_back();
    out.choices.assign(space.knobs().size(), -1);
    for (const size_t k : space.knobs_at_work(*config)) out.choices[k] = config->choices[k];
    const Known& k = known->second;
    out.status = k.status, out.measured = k.measured;
    // A disturbed measurement is too slow, never too fast.
    out.seconds = k.seconds.empty() ? k.bound : k.confirmed > 0 ? k.confirmed * scale : fastest(k);
    out.censored = k.seconds.empty() && k.bound > 0;
    out.program = program_ids.emplace(known->first, static_cast<int32_t>(program_ids.size())).first->second;
  }
  if (missing > 0)
    return absl::DeadlineExceededError(fmt::format("{}: {} configs are not measured yet", s.name, missing));
  HONE_RETURN_IF_ERROR(refresh_features(s, &r));
  return r;
}

Status refresh_features(const ReplaySpace& s, Recording* r) {
  const Target target = Target::parse(r->target);
  const Space space = make_space(s.workload, target, s.narrowing);
  if (space.fingerprint().hex() != r->fingerprint)
    return absl::FailedPreconditionError(fmt::format(
        "{}: the template is no longer the one that was recorded; `bench_search --record {}` records it anew", r->name,
        r->name));
  NoCoreSharing cores;
  CompiledCandidates candidates(s.workload, target, space, cores);
  for (RecordedConfig& c : r->configs) {
    Config config;
    for (size_t k = 0; k < c.choices.size(); ++k)
      config.choices.push_back(c.choices[k] < 0 ? space.knobs()[k].default_choice : c.choices[k]);
    const Features* f = candidates.features(config);
    c.features = f ? *f : Features{};
  }
  r->schema = feature_schema().hex();
  return absl::OkStatus();
}

}  // namespace hone::replay
