#include "tuner/driver/tune_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/time_text.h"
#include "compiler/build/choose_config.h"
#include "compiler/build/denormals.h"
#include "db/chain/outbox.h"
#include "db/plausible.h"
#include "tuner/driver/phase_line.h"
#include "tuner/session/standings.h"

namespace hone {
namespace {

// Trials of an alternative to a layer: its default and the first of other configs. Its space is that of the layer's
// workload, whose configs it begins with.
constexpr size_t kAlternativeTrials = 8;

// A build whose result is no longer wanted.
struct Unwanted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Shows how far a build is; ends it when the user or the plan does, which leaves `reserve` seconds for later parts.
StillWanted wanted_until(const TuneServices& s, double reserve, PhaseLine& phase) {
  return [&s, reserve, &phase](std::string_view what, size_t done, size_t all) {
    if (s.interrupts && s.interrupts() > 0) throw Unwanted("interrupted");
    if (s.plan.left() <= reserve) throw Unwanted("the time was up");
    phase.tell(what, done, all);
  };
}

// How many artifacts are built of configs that came close behind the best: they may be faster inside the model.
constexpr size_t kRunnersUp = 2;

// By place behind the best: the configs of the tasks that have so many, of all sessions' trials.
StatusOr<std::vector<ConfigsByWorkload>> runners_up(const std::vector<std::unique_ptr<TuningTask>>& tasks,
                                                    const std::string& target, db::Store& store) {
  std::vector<ConfigsByWorkload> out(kRunnersUp);
  for (const auto& task : tasks) {
    const db::TrialFilter filter{task->text, target, task->space.fingerprint().hex(), ""};
    HONE_ASSIGN_OR_RETURN(const std::vector<db::TrialRow> trials, store.trials().list(filter));
    Standings standings;
    for (const db::TrialRow& trial : trials) standings.add(trial);
    const std::optional<Ranked> best = standings.best();
    std::vector<std::string> fastest = standings.fastest(kRunnersUp + 1);
    if (best) std::erase(fastest, best->config);
    for (size_t place = 0; place < std::min(kRunnersUp, fastest.size()); ++place) try {
        const Config config = task->space.parse(fastest[place]);
        if (task->space.valid(config)) out[place][task->text] = {config, "runner-up", ""};
      } catch (const UserError&) {  // a stored config that this space cannot read
      }
  }
  return out;
}

// Keeps choices found inside the model for tensorc to find: all of them or none. `hub_name`: of the team's tophub that
// is told; empty: none.
Status store_choices(const std::vector<ModelChoice>& choices, const Target& target, db::TopHub& hub, db::Store& store,
                     const std::string& hub_name, const OperatorTable& operators) {
  HONE_ASSIGN_OR_RETURN(db::Transaction transaction, db::Transaction::begin(store.database()));
  for (const ModelChoice& c : choices) {
    const std::optional<db::BestRow> best = exact_best(Workload::parse(operators, c.workload), target, hub);
    if (!best) return absl::NotFoundError(fmt::format("there is no best of {}", c.workload));
    const db::ChoiceRow choice{best->workload, best->target, best->space,       c.config,
                               best->config,   c.seconds,    c.instead_seconds, db::unix_ms()};
    HONE_RETURN_IF_ERROR(store.choices().put_in_transaction(choice).status());
    if (!hub_name.empty()) HONE_RETURN_IF_ERROR(db::Outbox(store).note_in_transaction(hub_name, choice));
  }
  return transaction.commit();
}

}  // namespace

StatusOr<std::vector<WholeModel>> compare_wholes(const std::vector<ModelGraph>& variants, const ModelBefore& before,
                                                 const std::vector<std::unique_ptr<TuningTask>>& tasks,
                                                 const TuneServices& services, PhaseLine& phase) {
  const auto& [operators, f, events, new_progress, interrupts, place, store, cores, clock, plan, prior, pusher] =
      services;
  const Target& target = place.target;
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::TopHub> hub, db::TopHub::open(db::usual_hub(store.path(), f.team)));
  const std::string hub_name = pusher && f.hub ? f.hub->name() : "";
  const Denormals as_built = denormals_for(f.denormals, target);
  std::vector<ConfigsByWorkload> others;
  if (why_not_here(target).empty()) {
    StatusOr<std::vector<ConfigsByWorkload>> found = runners_up(tasks, to_string(target), store);
    if (found.ok())
      others = *std::move(found);
    else  // the tuned model is compared and reported all the same
      events.tell("configs next to the best are left out: " + message_of(found.status()));
  }
  std::vector<WholeModel> out;
  for (const ModelGraph& v : variants) {
    if (!interrupts || interrupts() == 0)
      phase.begin("building the model" + (v.name.empty() ? "" : " for " + v.name),
                  "with default and with tuned configs, with those next to them, and as it was before");
    out.push_back(compare_whole({v.name, &v.graph, target, v.growth()}, &before, *hub, wanted_until(services, 0, phase),
                                others, as_built, f.assume_finite, [&services] { return services.plan.left(); }));
    WholeModel& whole = out.back();
    if (whole.choices.empty()) continue;
    if (const Status stored = store_choices(whole.choices, target, *hub, store, hub_name, operators); !stored.ok()) {
      events.tell("what was chosen inside the model is not stored: " + message_of(stored));
      whole.forget_choices();
    } else if (pusher) {
      pusher->wake();
    }
  }
  return out;
}

StatusOr<ModelWork> model_with_measured(const OperatorTable& operators, const std::vector<ModelGraph>& imported,
                                        const Target& target, const db::Store& store,
                                        const std::shared_ptr<db::Source>& team, const Events& events) {
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::TopHub> hub, db::TopHub::open(db::usual_hub(store.path(), team)));
  return model_work(operators, imported, target, events,
                    [&](const Workload& w) { return measured_seconds(w, target, *hub); });
}

StatusOr<ModelBefore> known_before(const ModelWork& model, const Target& target, const db::Store& store,
                                   const std::shared_ptr<db::Source>& team) {
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::TopHub> hub, db::TopHub::open(db::usual_hub(store.path(), team)));
  std::vector<db::TeamKey> keys;
  for (const WeightedWorkload& w : model.tasks) keys.push_back({to_string(w.workload), to_string(target)});
  HONE_RETURN_IF_ERROR(hub->prefetch(keys));
  return model_before(model, target, *hub);
}

namespace {

// Those that do not have their trials yet, of this session's search or an earlier one.
StatusOr<std::vector<WeightedWorkload>> without_trials(std::vector<WeightedWorkload> alternatives, const Target& target,
                                                       db::Store& store) {
  std::vector<WeightedWorkload> out;
  for (WeightedWorkload& w : alternatives) {
    const db::TrialFilter filter{to_string(w.workload), to_string(target),
                                 make_space(w.workload, target).fingerprint().hex(), ""};
    HONE_ASSIGN_OR_RETURN(const int64_t trials, store.trials().count(filter));
    if (trials < static_cast<int64_t>(kAlternativeTrials)) out.push_back(std::move(w));
  }
  return out;
}

}  // namespace

StatusOr<Alternatives> measure_alternatives(const std::vector<ModelGraph>& imported, const TasksOutcome& outcome,
                                            const std::vector<WeightedWorkload>& before, const TuneServices& services) {
  const auto& [operators, f, events, new_progress, interrupts, place, store, cores, clock, plan, prior, pusher] =
      services;
  if (outcome.interrupted) return Alternatives{false};
  // Preparing the model again takes its time, too.
  constexpr double kLeastSeconds = 2;
  if (plan.for_alternatives() < kLeastSeconds) {
    HONE_ASSIGN_OR_RETURN(const std::vector<WeightedWorkload> left, without_trials(before, place.target, store));
    return Alternatives{true, left.size()};
  }
  const Events said_before;
  HONE_ASSIGN_OR_RETURN(ModelWork work,
                        model_with_measured(operators, imported, place.target, store, f.team, said_before));
  HONE_ASSIGN_OR_RETURN(const std::vector<WeightedWorkload> alternatives,
                        without_trials(std::move(work.alternatives), place.target, store));
  if (alternatives.empty()) return Alternatives{};
  size_t used = 0;
  for (const SessionOutcome& o : outcome.tasks) used += o.trials;
  const size_t count = alternatives.size(), most = session_options(f, 1, outcome.tasks.size(), work.tasks).trials;
  SessionOptions options = session_options(f, place.devices, count, work.tasks);
  options.trials = std::min(kAlternativeTrials * count, most - std::min(most, used));
  events.tell(fmt::format("{}{} workloads that layers could be instead",
                          options.trials < count ? "no trials are left for " : "measuring ", count));
  if (options.trials < count) return Alternatives{};
  options.seconds = plan.is_limited() ? 0.8 * plan.for_alternatives() : 0;
  options.confirm_seconds = plan.is_limited() ? 0.2 * plan.for_alternatives() : 0;
  options.after_seconds = plan.is_limited() ? plan.left() - plan.for_alternatives() : 0;
  options.is_model = false;
  HONE_ASSIGN_OR_RETURN(const MeasuredTasks measured, measure_tasks(alternatives, options, services));
  if (measured.is_database_lost) return measured.outcome.status();
  // It is no failure if the time was over before one of them was tried: one line counts all that are left.
  if (plan.is_limited() && is_nothing_measured(measured.outcome.status())) return Alternatives{true, count};
  if (!measured.outcome.ok()) events.tell(message_of(measured.outcome.status()));
  Alternatives out{!measured.outcome.ok() || !measured.outcome->interrupted};
  if (measured.outcome.ok() && measured.outcome->stopped_by == "time is up")
    for (const SessionOutcome& o : measured.outcome->tasks) out.not_measured += o.trials == 0;
  return out;
}

std::optional<ModelNow> look_at_model(const ModelBefore& before, std::vector<WeightedWorkload>& workloads,
                                      const TuneServices& services, PhaseLine& phase) {
  const auto& [operators, f, events, new_progress, interrupts, place, store, cores, clock, plan, prior, pusher] =
      services;
  if (before.variants.empty()) return std::nullopt;
  phase.begin("building and timing the model as it is");
  // Half of the time is the search's, whatever a build takes.
  const double reserve = plan.is_limited() ? plan.left() / 2 : 0;
  std::optional<ModelNow> now = time_model_now(before, place.target, denormals_for(f.denormals, place.target),
                                               f.assume_finite, wanted_until(services, reserve, phase));
  if (!now && plan.is_limited() && plan.left() <= reserve)
    events.tell(
        fmt::format("--seconds {}: building and timing the model once takes more than half of that; layers "
                    "are tuned in their order, and the whole is timed if there is time",
                    f.seconds));
  if (!now) return now;
  size_t tuned = 0;
  std::vector<std::pair<double, std::string>> others;  // seconds, and the part that takes them
  for (WeightedWorkload& w : workloads) {
    const std::string text = to_string(w.workload);
    const auto seconds = now->layer_seconds.find(text);
    const auto config = before.configs.find(text);
    w.is_tuned_now = config != before.configs.end() && config->second.source.starts_with("best (exact");
    if (seconds != now->layer_seconds.end() && w.weight > 0) w.seconds_now = seconds->second / w.weight;
    tuned += w.is_tuned_now;
    if (!w.is_tuned_now) others.emplace_back(w.seconds_now * w.weight, short_text(w.workload));
  }
  std::string line = fmt::format("the model takes {} ms now; {} of {} workloads have configs that a search found",
                                 ms_text(now->seconds), tuned, workloads.size());
  std::stable_sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr size_t kMostNamed = 3;
  for (size_t i = 0; i < std::min(kMostNamed, others.size()); ++i)
    line += fmt::format("{} {} ({:.0f}%)", i ? "," : "; heaviest of the others:", others[i].second,
                        100 * others[i].first / now->seconds);
  events.tell(line);
  return now;
}

}  // namespace hone
