#include "tuner/driver/confirm_known.h"

#include <algorithm>

#include "base/exit_code.h"
#include "compiler/build/choose_config.h"
#include "tuner/driver/measure_tasks.h"

namespace hone {
namespace {

// The bound of one workload's first measurements, in seconds; confirming takes half a second more. With less than the
// least no workload is begun.
constexpr double kSeconds = 2, kLeastSeconds = 0.5;

// A workload with a config from elsewhere.
struct Known {
  const WeightedWorkload* workload;
  std::string space, config, fallback;  ///< the space's fingerprint; texts of the known config and the default
  double cost;                          ///< seconds of all of its runs
};

db::TrialFilter trials_of(const WeightedWorkload& w, const Target& target, const std::string& space,
                          const std::string& session = "") {
  return {to_string(w.workload), to_string(target), space, session};
}

// The trial of a config; null where there is none.
const db::TrialRow* trial_of(const std::string& config, const std::vector<db::TrialRow>& trials) {
  const auto it = std::find_if(trials.begin(), trials.end(), [&](const db::TrialRow& t) { return t.config == config; });
  return it == trials.end() ? nullptr : &*it;
}

// Those of `workloads` whose best is from elsewhere, the dearest first.
StatusOr<std::vector<Known>> known_elsewhere(const std::vector<WeightedWorkload>& workloads, const Target& target,
                                             db::Store& store, const std::shared_ptr<db::Source>& team) {
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::TopHub> all, db::TopHub::open(db::usual_hub(store.path(), team)));
  db::HubOptions own_file;
  own_file.db_file = store.path();
  own_file.packages_dir = "";
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::TopHub> own, db::TopHub::open(own_file));
  std::vector<Known> out;
  for (const WeightedWorkload& w : workloads) {
    if (const auto best = exact_best(w.workload, target, *own); best && best->confirmed) continue;
    const Space space = make_space(w.workload, target);
    HONE_ASSIGN_OR_RETURN(const ChosenConfig known,
                          choose_config(w.workload, target, space, *all, ConfigUse::kAlone, Transfer::kAny));
    if (known.is_default() || known.config == space.default_config()) continue;
    Known found{&w, space.fingerprint().hex(), space.print(known.config), space.print(space.default_config()), 0};
    // One that is clearly slower is measured and no finalist: it need not be tried again.
    HONE_ASSIGN_OR_RETURN(const std::vector<db::TrialRow> trials,
                          store.trials().list(trials_of(w, target, found.space)));
    if (trial_of(found.config, trials) && trial_of(found.fallback, trials)) continue;
    const double seconds = w.seconds_now > 0 ? w.seconds_now : measured_seconds(w.workload, target, *all).value_or(0);
    found.cost = seconds * w.weight;
    out.push_back(std::move(found));
  }
  std::stable_sort(out.begin(), out.end(), [](const Known& a, const Known& b) { return a.cost > b.cost; });
  return out;
}

// Shows nothing: a line a workload is enough.
class NoProgress final : public Progress {
 public:
  void show(const Snapshot&) override {}
  void end() override {}
};

// The known config and the default of one task: as they were confirmed side by side or, where one was so much slower
// that it was no finalist, as they were measured first. Nothing where one has no time.
std::optional<ConfirmedTask> confirmed_task(const Known& known, const TuningTask& task, const SessionOutcome& outcome,
                                            const std::vector<db::TrialRow>& trials) {
  ConfirmedTask out{task.label, task.text, known.workload->weight};
  if (!outcome.best || !outcome.default_config) return std::nullopt;
  out.is_known_taken = outcome.best->config == known.config;
  const std::optional<Ranked> other = out.is_known_taken ? outcome.default_config : outcome.second;
  if (other && side_by_side(*outcome.best, *other)) {
    out.seconds = outcome.best->seconds, out.default_seconds = other->seconds;
    if (!out.is_known_taken) std::swap(out.seconds, out.default_seconds);
    return out;
  }
  const db::TrialRow *of_known = trial_of(known.config, trials), *of_default = trial_of(known.fallback, trials);
  if (!of_known || !of_known->seconds || !of_default || !of_default->seconds) return std::nullopt;
  out.seconds = *of_known->seconds, out.default_seconds = *of_default->seconds;
  return out;
}

}  // namespace

StatusOr<Confirmations> confirm_known(const std::vector<WeightedWorkload>& workloads, const TuneServices& services,
                                      PhaseLine& phase) {
  const Target& target = services.place.target;
  HONE_ASSIGN_OR_RETURN(const std::vector<Known> known,
                        known_elsewhere(workloads, target, services.store, services.request.team));
  Confirmations out;
  out.known = known.size();
  TuneRequest request = services.request;
  request.search = "xgb", request.warm_start = true, request.fresh = false;
  const Events silent;
  const std::function<std::unique_ptr<Progress>()> no_progress = [] { return std::make_unique<NoProgress>(); };
  const TuneServices quiet{services.operators,  request,        silent,         no_progress,
                           services.interrupts, services.place, services.store, services.cores,
                           services.clock,      services.plan,  services.prior, services.pusher};
  phase.begin("confirming configs known elsewhere beside the defaults");
  for (size_t i = 0; i < known.size(); ++i) {
    if (services.interrupts && services.interrupts() > 0) out.interrupted = true;
    if (out.interrupted || services.plan.left() <= kLeastSeconds) break;
    const WeightedWorkload& w = *known[i].workload;
    phase.tell(short_text(w.workload), i, known.size());
    HONE_ASSIGN_OR_RETURN(const int64_t earlier, services.store.trials().count(trials_of(w, target, known[i].space)));
    SessionOptions options = session_options(request, services.place.devices, 1, workloads);
    options.trials = static_cast<size_t>(earlier) + 2;  // the known config and the default
    options.finalists = 2;
    options.seconds = std::min(kSeconds, services.plan.left());
    options.confirm_seconds = 0;  // where the default was faster at first sight, too
    HONE_ASSIGN_OR_RETURN(const MeasuredTasks measured, measure_tasks({w}, options, quiet));
    if (measured.is_database_lost) return measured.outcome.status();
    if (!measured.outcome.ok()) {
      if (exit_code_of(measured.outcome.status()) != kExitAllFailed) return measured.outcome.status();
      ++out.failed;
      continue;
    }
    out.interrupted = measured.outcome->interrupted;
    HONE_ASSIGN_OR_RETURN(const std::vector<db::TrialRow> trials,
                          services.store.trials().list(trials_of(w, target, known[i].space)));
    const auto confirmed = confirmed_task(known[i], *measured.tasks[0], measured.outcome->tasks[0], trials);
    if (confirmed)
      out.tasks.push_back(*confirmed);
    else if (!out.interrupted)
      ++out.failed;
  }
  return out;
}

}  // namespace hone
