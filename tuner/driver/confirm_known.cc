#include "tuner/driver/confirm_known.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/exit_code.h"
#include "compiler/build/choose_config.h"
#include "tuner/driver/measure_tasks.h"

namespace hone {
namespace {

// The bound of one workload's first measurements, in seconds; confirming takes half a second more. With less than the
// least no workload is begun.
constexpr double kSeconds = 2, kLeastSeconds = 0.5;
constexpr double kNeverCensored = 1e300;

// A workload with a config from elsewhere.
struct Known {
  const WeightedWorkload* workload;
  double cost;  ///< seconds of all of its runs
};

// The config that a build has for a workload, where no session on this file confirmed it, and it is not the default.
StatusOr<std::optional<Config>> from_elsewhere(const Workload& w, const Target& target, db::TopHub& hub) {
  const Space space = make_space(w, target);
  HONE_ASSIGN_OR_RETURN(ChosenConfig known, choose_config(w, target, space, hub, ConfigUse::kAlone, Transfer::kAny));
  if (known.config == space.default_config() || known.confidence == to_string(db::Confidence::kConfirmed))
    return std::nullopt;
  return std::move(known.config);
}

// The workloads that have one, the dearest first.
StatusOr<std::vector<Known>> known_elsewhere(const std::vector<WeightedWorkload>& workloads, const Target& target,
                                             db::TopHub& hub) {
  std::vector<Known> out;
  for (const WeightedWorkload& w : workloads) {
    HONE_ASSIGN_OR_RETURN(const std::optional<Config> config, from_elsewhere(w.workload, target, hub));
    if (!config) continue;
    const double seconds = w.seconds_now > 0 ? w.seconds_now : measured_seconds(w.workload, target, hub).value_or(0);
    out.push_back({&w, seconds * w.weight});
  }
  std::stable_sort(out.begin(), out.end(), [](const Known& a, const Known& b) { return a.cost > b.cost; });
  return out;
}

// Proposes one config, beside the default that each session measures.
class OneConfig final : public Searcher {
 public:
  explicit OneConfig(Config config) : config_(std::move(config)) {}
  std::vector<Proposal> propose(size_t) override {
    if (std::exchange(is_proposed_, true)) return {};
    return {{config_, std::nullopt}};
  }
  void report(const std::vector<Observation>&) override {}

 private:
  const Config config_;
  bool is_proposed_ = false;
};

// Shows nothing: a line a workload is enough.
class NoProgress final : public Progress {
 public:
  void show(const Snapshot&) override {}
  void end() override {}
};

// The known config and the default of one task, confirmed side by side. Nothing where one has no time.
std::optional<ConfirmedTask> confirmed_task(double weight, const Config& known, const TuningTask& task,
                                            const SessionOutcome& outcome) {
  ConfirmedTask out{task.label, task.text, weight};
  if (!outcome.best || !outcome.default_config) return std::nullopt;
  const Ranked &best = *outcome.best, &fallback = *outcome.default_config;
  out.is_known_taken = best.config == task.space.print(known);
  out.default_seconds = fallback.seconds;
  // The same program has the same time.
  const Ranked& of_known = out.is_known_taken || outcome.shared > 0 ? best : outcome.second.value_or(Ranked{});
  if (!best.confirmed || of_known.seconds <= 0 || !side_by_side(of_known, fallback)) return std::nullopt;
  out.seconds = of_known.seconds;
  return out;
}

// Measures `known` beside the default, and stores both. Nothing where one of them has no time here.
StatusOr<std::optional<ConfirmedTask>> confirm(const WeightedWorkload& w, const Config& known,
                                               const TuneServices& services, bool* interrupted) {
  TuneRequest request = services.request;
  request.make_searcher = [&known](const Space&) { return std::make_unique<OneConfig>(known); };
  const Events silent;
  const std::function<std::unique_ptr<Progress>()> no_progress = [] { return std::make_unique<NoProgress>(); };
  const TuneServices quiet{services.operators,  request,        silent,         no_progress,
                           services.interrupts, services.place, services.store, services.cores,
                           services.clock,      services.plan,  services.prior, services.pusher};
  SessionOptions options = session_options(request, services.place.devices, 1, {w});
  // Trials that were imported count for nothing: both are measured here, to the end, and confirmed.
  options.fresh = true, options.profile.censor_factor = kNeverCensored;
  options.trials = options.finalists = 2;
  options.seconds = std::min(kSeconds, services.plan.left());
  options.confirm_seconds = 0;
  HONE_ASSIGN_OR_RETURN(const MeasuredTasks measured, measure_tasks({w}, options, quiet));
  if (measured.is_database_lost) return measured.outcome.status();
  if (!measured.outcome.ok()) {
    if (exit_code_of(measured.outcome.status()) != kExitAllFailed) return measured.outcome.status();
    return std::nullopt;
  }
  *interrupted = measured.outcome->interrupted;
  return confirmed_task(w.weight, known, *measured.tasks[0], measured.outcome->tasks[0]);
}

}  // namespace

StatusOr<Confirmations> confirm_known(const std::vector<WeightedWorkload>& workloads, const TuneServices& services,
                                      PhaseLine& phase) {
  const Target& target = services.place.target;
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::TopHub> hub,
                        db::TopHub::open(db::usual_hub(services.store.path(), services.request.team)));
  HONE_ASSIGN_OR_RETURN(const std::vector<Known> known, known_elsewhere(workloads, target, *hub));
  Confirmations out;
  out.known = known.size();
  const auto is_over = [&] {
    out.interrupted = out.interrupted || (services.interrupts && services.interrupts() > 0);
    return out.interrupted || services.plan.left() <= kLeastSeconds;
  };
  phase.begin("confirming configs known elsewhere beside the defaults");
  for (size_t i = 0; i < known.size() && !is_over(); ++i) {
    const WeightedWorkload& w = *known[i].workload;
    phase.tell(short_text(w.workload), i, known.size());
    // Where one config loses, a build has the next row that is known; the last answer is what it takes.
    std::optional<ConfirmedTask> last;
    std::optional<Config> tried;
    for (;;) {
      HONE_ASSIGN_OR_RETURN(std::optional<Config> next, from_elsewhere(w.workload, target, *hub));
      if (!next) {
        if (last) out.tasks.push_back(*last);
        break;
      }
      const bool is_stuck = tried == next;  // it has no time here, and stays what is known
      if (is_stuck) ++out.failed;
      if (is_stuck || is_over()) break;
      HONE_ASSIGN_OR_RETURN(last, confirm(w, *next, services, &out.interrupted));
      tried = std::move(next);
    }
  }
  return out;
}

}  // namespace hone
