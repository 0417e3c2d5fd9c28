#include "tuner/cli/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/writable.h"
#include "compiler/build/choose_config.h"
#include "compiler/build/denormals.h"
#include "compiler/codegen/llvm/parse_target.h"
#include "compiler/ops/extremes.h"
#include "db/plausible.h"
#include "tuner/cli/measure_tasks.h"
#include "tuner/cli/model.h"
#include "tuner/cli/next_commands.h"
#include "tuner/cli/phase_line.h"
#include "tuner/cli/report.h"
#include "tuner/cli/time_plan.h"
#include "tuner/cli/tuner_files.h"
#include "tuner/cli/whole_model.h"
#include "tuner/plot/curve.h"
#include "tuner/standings.h"
#include "tuner/transfer/warm_start.h"

namespace hone {
namespace {

// Trials of a workload that a layer could be instead: its default and what comes first of others. It has the space of
// what the layer is, whose configs it begins with.
constexpr size_t kAlternativeTrials = 8;

// The tasks: one workload, or those of a file.
StatusOr<std::vector<WeightedWorkload>> workloads_of(const OperatorTable& operators, const TunerFlags& f) {
  if (!f.model.empty()) {
    HONE_USER_CHECK(f.task.empty() && f.workload.empty() && f.args.empty() && f.tasks.empty())
        << "--model names its workloads itself: --task, --args, --workload and --tasks exclude it";
    if (!f.denormals.empty()) denormals_for(f.denormals, parse_target(f.target));
    return std::vector<WeightedWorkload>{};  // they depend on the target
  }
  const std::string given = words_of_models_alone(f);
  HONE_USER_CHECK(given.empty()) << given << ": these belong to --model";
  HONE_USER_CHECK(f.quantize.empty() && f.ranges.empty() && f.keep.empty() && f.denormals.empty() && !f.assume_finite &&
                  !f.print_tasks)
      << "--quantize, --ranges, --keep, --denormals, --assume-finite and --print-tasks belong to --model";
  if (!f.tasks.empty()) {
    HONE_USER_CHECK(f.task.empty() && f.workload.empty() && f.args.empty())
        << "--tasks names its workloads itself: --task, --args and --workload exclude it";
    HONE_ASSIGN_OR_RETURN(std::vector<WeightedWorkload> tasks, read_tasks(operators, f.tasks));
    const size_t trials = f.trials > 0 ? f.trials : kTrials;
    HONE_USER_CHECK(trials >= tasks.size()) << "--trials: " << trials << " for the " << tasks.size() << " tasks of "
                                            << f.tasks << "; the default of each is one";
    return tasks;
  }
  HONE_USER_CHECK(f.task.empty() || f.workload.empty()) << "--task and --workload exclude each other";
  if (!f.workload.empty()) {
    HONE_USER_CHECK(f.args.empty()) << "--args belongs to --task; --workload says everything itself";
    return std::vector<WeightedWorkload>{{without_extremes(Workload::parse(operators, f.workload))}};
  }
  HONE_USER_CHECK(!f.task.empty()) << "--task is missing; known tasks: " << operators.names();
  return std::vector<WeightedWorkload>{{without_extremes(Workload::parse(operators, f.task, f.args))}};
}

}  // namespace

void list_tasks(const OperatorTable& operators, std::ostream& out) {
  std::string in_c;
  for (const auto& op : operators.rows()) {
    if (!op->define) {
      in_c += fmt::format("{}: {}\n", op->name, op->summary);
      continue;
    }
    std::string args;
    for (const Attribute& a : op->attributes)
      args += fmt::format("{}{}={}", args.empty() ? "" : ",", a.name, a.fallback);
    out << op->name << ": " << op->summary << "\n    --args " << args << "\n";
  }
  if (!in_c.empty()) out << "\nFunctions in C, which models are built with and which have nothing to tune:\n" << in_c;
}

namespace {

// Draws the trials in the database, those of earlier sessions included; with --fresh only this session's.
Status write_plot(const TunerFlags& f, db::Store& store, const std::string& target, const std::string& session,
                  const std::vector<std::unique_ptr<TuningTask>>& tasks, const TasksOutcome& outcome) {
  std::vector<plot::TaskCurve> curves;
  for (size_t t = 0; t < tasks.size(); ++t) {
    const TuningTask& task = *tasks[t];
    plot::TaskCurve curve;
    curve.workload = task.text, curve.target = target, curve.label = task.label;
    curve.flops = flops(task.workload);
    curve.default_config = task.space.print(task.space.default_config());
    if (t < outcome.tasks.size()) {
      const SessionOutcome& o = outcome.tasks[t];
      if (o.best)
        curve.best_config = o.best->config, curve.best_seconds = o.best->seconds, curve.confirmed = o.best->confirmed;
      if (o.default_config && (!o.best || side_by_side(*o.best, *o.default_config)))
        curve.default_seconds = o.default_config->seconds;
    }
    const db::TrialFilter filter{task.text, target, task.space.fingerprint().hex(), f.fresh ? session : ""};
    HONE_ASSIGN_OR_RETURN(curve.trials, store.trials().list(filter));
    HONE_ASSIGN_OR_RETURN(curve.batches, store.trials().batches(filter));
    curves.push_back(std::move(curve));
  }
  return write_atomically(f.plot, plot::draw(curves));
}

void report(const TunerFlags& f, const TunerIo& io, const std::string& target, const std::string& db,
            const std::vector<std::unique_ptr<TuningTask>>& tasks, const TasksOutcome& outcome,
            const std::vector<WholeModel>& wholes) {
  if (f.tasks.empty() && f.model.empty()) {
    const TuningTask& task = *tasks[0];
    const ReportContext context{task.workload, target, task.space, db, operator_build_command(f, task.workload)};
    io.out << (f.json ? json_report(outcome.tasks[0], context) + "\n" : text_report(outcome.tasks[0], context))
           << std::flush;
    return;
  }
  std::vector<ReportedTask> reported;
  for (const auto& task : tasks) reported.push_back({task->workload, task->label, task->weight, task->space});
  std::string text = f.json ? json_report(outcome, reported, target, db) : text_report(outcome, reported, target, db);
  if (f.json && !wholes.empty()) {
    OrderedJson j = OrderedJson::parse(text);
    if (wholes.size() == 1)
      j["model"] = json_of(wholes[0]);
    else
      for (const WholeModel& whole : wholes) j["variants"].push_back(json_of(whole));
    text = json_line(j);
  }
  io.out << text << (f.json ? "\n" : "") << std::flush;
}

// A build that nobody waits for any more.
struct Unwanted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Tells how far a build is; ends it when the user or the plan does, which leaves `reserve` seconds to what comes then.
StillWanted wanted_until(const TunerIo& io, const TimePlan& plan, double reserve, PhaseLine& phase) {
  return [&io, &plan, reserve, &phase](std::string_view what, size_t done, size_t all) {
    if (io.interrupts && io.interrupts() > 0) throw Unwanted("interrupted");
    if (plan.left() <= reserve) throw Unwanted("the time was up");
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

// Keeps what was found inside the model for tensorc to find: all of it or nothing.
Status store_choices(const std::vector<ModelChoice>& choices, const Target& target, db::TopHub& hub, db::Store& store,
                     const OperatorTable& operators) {
  HONE_ASSIGN_OR_RETURN(db::Transaction transaction, db::Transaction::begin(store.database()));
  for (const ModelChoice& c : choices) {
    const std::optional<db::BestRow> best = exact_best(Workload::parse(operators, c.workload), target, hub);
    if (!best) return absl::NotFoundError(fmt::format("there is no best of {}", c.workload));
    HONE_RETURN_IF_ERROR(store.choices()
                             .put_in_transaction({best->workload, best->target, best->space, c.config, best->config,
                                                  c.seconds, c.instead_seconds, db::unix_ms()})
                             .status());
  }
  return transaction.commit();
}

// What was tuned as tensorc will find it, beside the defaults and what was known before: each variant by itself.
StatusOr<std::vector<WholeModel>> compare_wholes(const std::vector<ModelGraph>& variants, const ModelBefore& before,
                                                 const Target& target, db::Store& store, const OperatorTable& operators,
                                                 const std::vector<std::unique_ptr<TuningTask>>& tasks,
                                                 const TunerFlags& f, const TunerIo& io, const TimePlan& plan,
                                                 PhaseLine& phase) {
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::TopHub> hub, db::TopHub::open(db::usual_hub(store.path())));
  const Denormals as_built = denormals_for(f.denormals, target);
  std::vector<ConfigsByWorkload> others;
  if (why_not_here(target).empty()) {
    StatusOr<std::vector<ConfigsByWorkload>> found = runners_up(tasks, to_string(target), store);
    if (found.ok())
      others = *std::move(found);
    else  // what was tuned is compared and reported all the same
      io.err << "tuner: configs next to the best are left out: " << message_of(found.status()) << std::endl;
  }
  std::vector<WholeModel> out;
  for (const ModelGraph& v : variants) {
    if (!io.interrupts || io.interrupts() == 0)
      phase.begin("building the model" + (v.name.empty() ? "" : " for " + v.name),
                  "with default and with tuned configs, with those next to them, and as it was before");
    out.push_back(compare_whole({v.name, &v.graph, target, v.growth()}, &before, *hub, wanted_until(io, plan, 0, phase),
                                others, as_built, f.assume_finite, [&plan] { return plan.left(); }));
    WholeModel& whole = out.back();
    if (whole.choices.empty()) continue;
    if (const Status stored = store_choices(whole.choices, target, *hub, store, operators); !stored.ok()) {
      io.err << "tuner: what was chosen inside the model is not stored: " << message_of(stored) << std::endl;
      whole.forget_choices();
    }
  }
  return out;
}

// The report of the tasks, then what they brought to the whole; one object of both for --json.
Status report_model(const OperatorTable& operators, const TunerFlags& f, const TunerIo& io, const Target& target,
                    db::Store& store, const std::vector<ModelGraph>& variants, const ModelBefore& before,
                    const std::vector<std::unique_ptr<TuningTask>>& tasks, const TasksOutcome& outcome,
                    const TimePlan& plan, PhaseLine& phase) {
  const std::string text = to_string(target);
  if (!f.json) report(f, io, text, store.path(), tasks, outcome, {});
  HONE_ASSIGN_OR_RETURN(const std::vector<WholeModel> wholes,
                        compare_wholes(variants, before, target, store, operators, tasks, f, io, plan, phase));
  if (f.json) {
    report(f, io, text, store.path(), tasks, outcome, wholes);
  } else {
    for (const WholeModel& whole : wholes) io.out << to_string(whole);
    io.out << fmt::format("next      {}\n", model_build_command(f)) << std::flush;
  }
  if (std::all_of(wholes.begin(), wholes.end(), [](const WholeModel& w) { return w.different.empty(); }))
    return absl::OkStatus();
  return Status(absl::StatusCode::kInternal,
                "the model with tuned configs does not give what it gives with default ones");
}

// The model as it is built with what the database has.
StatusOr<ModelWork> model_with_measured(const OperatorTable& operators, const std::vector<ModelGraph>& imported,
                                        const Target& target, const db::Store& store, std::ostream& err) {
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::TopHub> hub, db::TopHub::open(db::usual_hub(store.path())));
  return model_work(operators, imported, target, err,
                    [&](const Workload& w) { return measured_seconds(w, target, *hub); });
}

StatusOr<ModelBefore> known_before(const ModelWork& model, const Target& target, const db::Store& store) {
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::TopHub> hub, db::TopHub::open(db::usual_hub(store.path())));
  return model_before(model, target, *hub);
}

// How far the workloads that layers could be instead were measured.
struct Alternatives {
  bool is_complete = true;  ///< the user let it come to its end
  size_t not_measured = 0;  ///< for want of time
};

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

// Measures what the model's layers could be instead of what they are: passes compare both when it is built next.
// `before`: those of before the session.
StatusOr<Alternatives> measure_alternatives(const OperatorTable& operators, const std::vector<ModelGraph>& imported,
                                            const TasksOutcome& outcome, const TaskServices& services,
                                            const TimePlan& plan, const std::vector<WeightedWorkload>& before) {
  const auto& [f, io, place, store, cores, clock, prior] = services;
  if (outcome.interrupted) return Alternatives{false};
  // Preparing the model again takes its time, too.
  constexpr double kLeastSeconds = 2;
  if (plan.for_alternatives() < kLeastSeconds) {
    HONE_ASSIGN_OR_RETURN(const std::vector<WeightedWorkload> left, without_trials(before, place.target, store));
    return Alternatives{true, left.size()};
  }
  std::ostringstream said_before;
  HONE_ASSIGN_OR_RETURN(ModelWork work, model_with_measured(operators, imported, place.target, store, said_before));
  HONE_ASSIGN_OR_RETURN(const std::vector<WeightedWorkload> alternatives,
                        without_trials(std::move(work.alternatives), place.target, store));
  if (alternatives.empty()) return Alternatives{};
  size_t used = 0;
  for (const SessionOutcome& o : outcome.tasks) used += o.trials;
  const size_t count = alternatives.size(), most = session_options(f, 1, outcome.tasks.size(), work.tasks).trials;
  SessionOptions options = session_options(f, place.devices, count, work.tasks);
  options.trials = std::min(kAlternativeTrials * count, most - std::min(most, used));
  io.err << fmt::format("tuner: {}{} workloads that layers could be instead",
                        options.trials < count ? "no trials are left for " : "measuring ", count)
         << std::endl;
  if (options.trials < count) return Alternatives{};
  options.seconds = plan.is_limited() ? 0.8 * plan.for_alternatives() : 0;
  options.confirm_seconds = plan.is_limited() ? 0.2 * plan.for_alternatives() : 0;
  options.after_seconds = plan.is_limited() ? plan.left() - plan.for_alternatives() : 0;
  options.is_model = false;
  HONE_ASSIGN_OR_RETURN(const MeasuredTasks measured, measure_tasks(alternatives, options, services));
  if (measured.is_database_lost) return measured.outcome.status();
  // That the time was over before one of them was tried is no failure: not_reached() says so for all.
  if (plan.is_limited() && is_nothing_measured(measured.outcome.status())) return Alternatives{true, count};
  if (!measured.outcome.ok()) io.err << "tuner: " << message_of(measured.outcome.status()) << std::endl;
  Alternatives out{!measured.outcome.ok() || !measured.outcome->interrupted};
  if (measured.outcome.ok() && measured.outcome->stopped_by == "time is up")
    for (const SessionOutcome& o : measured.outcome->tasks) out.not_measured += o.trials == 0;
  return out;
}

// What the model is now: each workload's share of its time, and what is to be had. Nothing where it cannot run here.
std::optional<ModelNow> look_at_model(const ModelBefore& before, const Target& target, const TunerFlags& f,
                                      const TunerIo& io, const TimePlan& plan, PhaseLine& phase,
                                      std::vector<WeightedWorkload>& workloads) {
  if (before.variants.empty()) return std::nullopt;
  phase.begin("building and timing the model as it is");
  // Half of the time is the search's, whatever a build takes.
  const double reserve = plan.is_limited() ? plan.left() / 2 : 0;
  std::optional<ModelNow> now = time_model_now(before, target, denormals_for(f.denormals, target), f.assume_finite,
                                               wanted_until(io, plan, reserve, phase));
  if (!now && plan.is_limited() && plan.left() <= reserve)
    io.err << fmt::format(
                  "tuner: --seconds {}: building and timing the model once takes more than half of that; layers "
                  "are tuned in their order, and the whole is timed if there is time",
                  f.seconds)
           << std::endl;
  if (!now) return now;
  size_t tuned = 0;
  std::vector<std::pair<double, std::string>> others;  // seconds, and what takes them
  for (WeightedWorkload& w : workloads) {
    const std::string text = to_string(w.workload);
    const auto seconds = now->layer_seconds.find(text);
    const auto config = before.configs.find(text);
    w.is_tuned_now = config != before.configs.end() && config->second.source.starts_with("best (exact");
    if (seconds != now->layer_seconds.end() && w.weight > 0) w.seconds_now = seconds->second / w.weight;
    tuned += w.is_tuned_now;
    if (!w.is_tuned_now) others.emplace_back(w.seconds_now * w.weight, short_text(w.workload));
  }
  std::string line =
      fmt::format("tuner: the model takes {} ms now; {} of {} workloads have configs that a search found",
                  ms_text(now->seconds), tuned, workloads.size());
  std::stable_sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr size_t kMostNamed = 3;
  for (size_t i = 0; i < std::min(kMostNamed, others.size()); ++i)
    line += fmt::format("{} {} ({:.0f}%)", i ? "," : "; heaviest of the others:", others[i].second,
                        100 * others[i].first / now->seconds);
  io.err << clean_line(line) << std::endl;
  return now;
}

// One line about what there was no time for, and the command that goes on; empty: nothing was left out.
std::string not_reached(const TunerFlags& f, const TasksOutcome& outcome,
                        const std::vector<WeightedWorkload>& workloads,
                        const std::vector<std::unique_ptr<TuningTask>>& tasks, size_t alternatives) {
  size_t untried = 0, provisional = 0;
  double whole = 0, of_untried = 0;
  for (size_t t = 0; t < tasks.size(); ++t) {
    const SessionOutcome& o = outcome.tasks[t];
    const double seconds = workloads[t].seconds_now * workloads[t].weight;
    whole += seconds;
    if (o.trials == 0) ++untried, of_untried += seconds;
    const std::string fallback = tasks[t]->space.print(tasks[t]->space.default_config());
    if (o.best && !o.best->confirmed && o.best->config != fallback) ++provisional;
  }
  // A search that ended for another reason has said so.
  const bool is_searched = outcome.stopped_by != "time is up";
  std::vector<std::string> parts;
  if (untried > 0 && !is_searched)
    parts.push_back(fmt::format("{} of {} workloads not searched{}", untried, tasks.size(),
                                whole > 0 ? fmt::format(" ({:.1f}% of the model)", 100 * of_untried / whole) : ""));
  if (provisional > 0 && !is_searched) parts.push_back(fmt::format("{} bests not confirmed", provisional));
  if (alternatives > 0)
    parts.push_back(
        fmt::format("{} workloads that layers could be instead not measured, which takes nothing from what was found",
                    alternatives));
  if (parts.empty()) return "";
  return fmt::format("tuner: the time was up: {}; `{}` goes on", fmt::join(parts, ", "), resume_command(f));
}

}  // namespace

Status tune(const OperatorTable& operators, const TunerFlags& f, const TunerIo& io) {
  const SteadyClock clock;
  TimePlan plan(clock, clock.now(), f.seconds);
  PhaseLine phase(io.err, clock, plan);
  if (f.list) {
    list_tasks(operators, io.out);
    return absl::OkStatus();
  }
  for (const auto& [flag, number] : {std::pair("--seconds", f.seconds), std::pair("--weight", f.weight),
                                     std::pair("--timeout", f.timeout), std::pair("--min-repeat-ms", f.min_repeat_ms)})
    if (std::isnan(number)) return usage_error(fmt::format("{} nan: this is no number", flag));
  HONE_ASSIGN_OR_RETURN(std::vector<WeightedWorkload> workloads, workloads_of(operators, f));
  HONE_RETURN_IF_ERROR(files_of(f).check());
  std::vector<ModelGraph> imported;
  if (!f.model.empty()) imported = import_model(operators, f, io.err);
  if (f.print_tasks) {
    io.out << tasks_text(model_work_here(operators, f, std::move(imported), io.err).tasks) << std::flush;
    return absl::OkStatus();
  }
  const auto& names = searcher_names();
  if (std::find(names.begin(), names.end(), f.search) == names.end())
    return usage_error(fmt::format("--search: unknown searcher '{}'; known: {}", f.search, fmt::join(names, ", ")));
  if (!f.plot.empty())
    if (const Status s = check_writable(f.plot); !s.ok()) return usage_error("--plot " + message_of(s));
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::Store> store, db::open_for_writing(f.db));
  HONE_ASSIGN_OR_RETURN(Place place, find_place(f));
  const std::string target = to_string(place.target);
  ModelWork model;
  ModelBefore before;
  if (!f.model.empty()) {
    HONE_ASSIGN_OR_RETURN(model, model_with_measured(operators, imported, place.target, *store, io.err));
    workloads = model.tasks;
    HONE_USER_CHECK(f.trials == 0 || f.trials >= workloads.size())
        << "--trials: " << f.trials << " for the " << workloads.size() << " tasks of " << f.model
        << "; the default of each is one";
    HONE_ASSIGN_OR_RETURN(before, known_before(model, place.target, *store));
  }

  std::optional<ModelNow> now;
  if (!f.model.empty()) now = look_at_model(before, place.target, f, io, plan, phase, workloads);
  if (plan.is_limited() && now && now->build_seconds > plan.left())
    io.err << fmt::format(
                  "tuner: one build of the model takes {:.1f} s, and {:.1f} s of --seconds are left: the whole is "
                  "not timed",
                  now->build_seconds, plan.left())
           << std::endl;
  HostCores cores(clock);
  FoundPrior prior;
  if (begins_warm(f)) {
    HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::TopHub> hub, db::TopHub::open(db::usual_hub(store->path())));
    HONE_ASSIGN_OR_RETURN(prior, find_prior(*hub, place.target.kind));
    io.err << "tuner: " << clean_line(prior.line) << std::endl;
  }
  const TaskServices services{f, io, place, *store, cores, clock, prior.model};
  SessionOptions options = session_options(f, place.devices, workloads.size(), workloads);
  plan.share(!f.model.empty(), now ? now->build_seconds : 0);
  if (plan.is_limited()) {
    constexpr double kLeast = 0.1;
    options.seconds = std::max(kLeast, plan.for_search());
    options.confirm_seconds = std::max(kLeast, plan.for_confirming() - plan.for_search());
    options.after_seconds = plan.left() - plan.for_confirming();
  }
  HONE_ASSIGN_OR_RETURN(const MeasuredTasks measured, measure_tasks(workloads, options, services));
  const auto& [tasks, session, outcome, is_database_lost] = measured;
  Status drawn;
  if (!f.plot.empty()) {
    drawn = is_database_lost ? absl::OkStatus()
                             : write_plot(f, *store, target, session, tasks, outcome.ok() ? *outcome : TasksOutcome());
    if (!drawn.ok() && (!outcome.ok() || outcome->interrupted))
      io.err << "tuner: --plot: " << message_of(drawn) << std::endl;
  }
  if (!outcome.ok()) return outcome.status();
  if (io.on_outcome) io.on_outcome(outcome->tasks[0]);
  for (const auto& task : tasks)
    if (!task->ranker.last_error().empty())
      io.err << "tuner: " << task->label
             << ": the cost model failed, the search went on without it: " << clean_line(task->ranker.last_error())
             << std::endl;
  bool is_complete = !outcome->interrupted;
  if (f.model.empty()) {
    report(f, io, target, store->path(), tasks, *outcome, {});
  } else {
    HONE_ASSIGN_OR_RETURN(const Alternatives alternatives,
                          measure_alternatives(operators, imported, *outcome, services, plan, model.alternatives));
    is_complete = alternatives.is_complete;
    // With what is measured now its layers may be others; where the time is up it is not built.
    std::ostringstream said_before;
    if (plan.left() > 0) {
      HONE_ASSIGN_OR_RETURN(model, model_with_measured(operators, imported, place.target, *store, said_before));
    }
    HONE_RETURN_IF_ERROR(
        report_model(operators, f, io, place.target, *store, model.variants, before, tasks, *outcome, plan, phase));
    const std::string rest = not_reached(f, *outcome, workloads, tasks, alternatives.not_measured);
    if (!rest.empty()) io.err << clean_line(rest) << std::endl;
  }
  if (is_complete) return drawn;
  size_t trials = 0;
  for (const SessionOutcome& o : outcome->tasks) trials += o.trials;
  return interrupted_error(
      fmt::format("interrupted; {} trials are kept in {}, the same command resumes", trials, store->path()));
}

}  // namespace hone
