#include "tuner/cli/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/writable.h"
#include "compiler/build/choose_config.h"
#include "compiler/build/denormals.h"
#include "compiler/codegen/llvm/machine/parse_target.h"
#include "compiler/driver/users.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/user_operator.h"
#include "tuner/cli/confirm_text.h"
#include "tuner/cli/next_commands.h"
#include "tuner/cli/report.h"
#include "tuner/cli/tuner_files.h"
#include "tuner/cli/whole_text.h"
#include "tuner/driver/confirm_known.h"
#include "tuner/driver/measure_tasks.h"
#include "tuner/driver/missed.h"
#include "tuner/driver/model_work.h"
#include "tuner/driver/time_plan.h"
#include "tuner/driver/tune_model.h"
#include "tuner/plot/curve.h"
#include "tuner/transfer/warm_start.h"

namespace hone {
namespace {

// The tasks: one workload, or those of a file.
StatusOr<std::vector<WeightedWorkload>> workloads_of(const OperatorTable& operators, const TunerFlags& f) {
  if (!f.model.empty()) {
    HONE_USER_CHECK(f.task.empty() && f.workload.empty() && f.args.empty() && f.tasks.empty() && !f.from_tophub)
        << "--model names its workloads itself: --task, --args, --workload, --tasks and --from-tophub exclude it";
    denormals_for(f.denormals, parse_target(f.target));
    return std::vector<WeightedWorkload>{};  // they depend on the target
  }
  if (f.from_tophub) {
    HONE_USER_CHECK(f.task.empty() && f.workload.empty() && f.args.empty() && f.tasks.empty())
        << "--from-tophub names its workloads itself: --task, --args, --workload and --tasks exclude it";
    HONE_USER_CHECK(!f.confirm) << "--from-tophub searches, --confirm does not: give one of them";
    return std::vector<WeightedWorkload>{};  // they depend on the target
  }
  users_of(f, operators);  // for texts of workloads
  const bool is_of_user = is_user_operator(f.workload.empty() ? f.task : f.workload);
  const std::string given = flags_of_models_alone(f, is_of_user || !f.tasks.empty());
  HONE_USER_CHECK(given.empty()) << given << ": these belong to --model";
  HONE_USER_CHECK(f.quantize.calibrate.empty() && !f.denormals && !f.assume_finite && !f.print_tasks)
      << "--ranges, --denormals, --assume-finite and --print-tasks belong to --model";
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

// A model's times: `model`, or `variants` where it has several.
void add_wholes(const std::vector<WholeModel>& wholes, OrderedJson* json) {
  if (wholes.size() == 1)
    (*json)["model"] = json_of(wholes[0]);
  else
    for (const WholeModel& whole : wholes) (*json)["variants"].push_back(json_of(whole));
}

void report(const TunerFlags& f, const TunerIo& io, const std::string& target, const std::string& db,
            const std::vector<std::unique_ptr<TuningTask>>& tasks, const TasksOutcome& outcome,
            const std::vector<WholeModel>& wholes) {
  if (f.tasks.empty() && f.model.empty() && !f.from_tophub) {
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
    add_wholes(wholes, &j);
    text = json_line(j);
  }
  io.out << text << (f.json ? "\n" : "") << std::flush;
}

// The report of the tasks, then their gain for the whole; one object of both for --json.
Status report_model(const TunerFlags& f, const TunerIo& io, const std::vector<ModelGraph>& variants,
                    const ModelBefore& before, const std::vector<std::unique_ptr<TuningTask>>& tasks,
                    const TasksOutcome& outcome, const TuneServices& services, PhaseLine& phase) {
  const std::string target = to_string(services.place.target), db = services.store.path();
  if (!f.json) report(f, io, target, db, tasks, outcome, {});
  HONE_ASSIGN_OR_RETURN(const std::vector<WholeModel> wholes, compare_wholes(variants, before, tasks, services, phase));
  if (f.json) {
    report(f, io, target, db, tasks, outcome, wholes);
  } else {
    for (const WholeModel& whole : wholes) io.out << to_string(whole);
    io.out << fmt::format("next      {}\n", model_build_command(f)) << std::flush;
  }
  if (std::all_of(wholes.begin(), wholes.end(), [](const WholeModel& w) { return w.different.empty(); }))
    return absl::OkStatus();
  return Status(absl::StatusCode::kInternal,
                "the model with tuned configs does not give what it gives with default ones");
}

// One line about the parts that there was no time for, and the command that goes on; empty: nothing was left out.
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
  return fmt::format("the time was up: {}; `{}` goes on", fmt::join(parts, ", "), resume_command(f));
}

Status check_numbers(const TunerFlags& f) {
  for (const auto& [flag, number] : {std::pair("--seconds", f.seconds), std::pair("--weight", f.weight),
                                     std::pair("--timeout", f.timeout), std::pair("--min-repeat-ms", f.min_repeat_ms)})
    if (std::isnan(number)) return usage_error(fmt::format("{} nan: this is not a number", flag));
  if (f.confirm && (f.fresh || f.trials > 0 || f.stop_after > 0 || !f.plot.empty()))
    return usage_error("--confirm searches nothing: --fresh, --trials, --stop-after and --plot exclude it");
  const auto& names = searcher_names();
  if (std::find(names.begin(), names.end(), f.search) == names.end())
    return usage_error(fmt::format("--search: unknown searcher '{}'; known: {}", f.search, fmt::join(names, ", ")));
  return absl::OkStatus();
}

// The misses that this session leaves: ` (3 for other targets, 1 of unknown operators, 2 later)`; empty: none.
std::string left_out(const Missed& m) {
  std::vector<std::string> parts;
  if (m.other_targets > 0) parts.push_back(fmt::format("{} for other targets", m.other_targets));
  if (m.unknown > 0) parts.push_back(fmt::format("{} of operators that are not known here", m.unknown));
  if (m.later > 0) parts.push_back(fmt::format("{} later", m.later));
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

// Measures what is known from elsewhere, and says what became of it; of a model also what it takes now.
Status confirm(const TunerFlags& f, const TunerIo& io, const std::vector<WeightedWorkload>& workloads,
               const ModelWork& model, const ModelBefore& before, const TuneServices& services, PhaseLine& phase) {
  HONE_ASSIGN_OR_RETURN(const Confirmations found, confirm_known(workloads, services, phase));
  OrderedJson json = json_of(found);
  if (!f.json) io.out << to_string(found) << std::flush;
  if (!f.model.empty() && !found.tasks.empty() && !found.interrupted && services.plan.left() > 0) {
    HONE_ASSIGN_OR_RETURN(const std::vector<WholeModel> wholes,
                          compare_wholes(model.variants, before, {}, services, phase));
    add_wholes(wholes, &json);
    if (!f.json)
      for (const WholeModel& whole : wholes) io.out << to_string(whole) << std::flush;
  }
  if (f.json) io.out << json_line(json) << std::endl;
  if (found.interrupted)
    return interrupted_error(fmt::format("interrupted; what was measured is kept in {}", services.store.path()));
  if (found.left() > 0)
    services.events.tell(fmt::format("the time was up: {} configs from elsewhere not measured{}", found.left(),
                                     f.model.empty() ? "" : fmt::format("; `{}` goes on", resume_command(f))));
  return absl::OkStatus();
}

// Shares the rest of --seconds among the parts of the session.
void share_time(TimePlan& plan, bool is_model, const std::optional<ModelNow>& now, SessionOptions& options) {
  plan.share(is_model, now ? now->build_seconds : 0);
  if (!plan.is_limited()) return;
  constexpr double kLeast = 0.1;
  options.seconds = std::max(kLeast, plan.for_search());
  options.confirm_seconds = std::max(kLeast, plan.for_confirming() - plan.for_search());
  options.after_seconds = plan.left() - plan.for_confirming();
}

}  // namespace

namespace {

// Tells the team's tophub what the session confirmed, beside it and for a while behind it.
class TeamNews {
 public:
  TeamNews(const TunerFlags& f, const std::string& db_path, const TimePlan& plan, const Events& events,
           const TunerIo& io)
      : name_(f.hub ? f.hub->name() : ""),
        command_(sync_command(f, name_, db_path)),
        plan_(plan),
        events_(events),
        io_(io) {
    if (f.hub) pusher_.emplace(db_path, f.hub);
  }
  // However the session ends.
  ~TeamNews() {
    if (!pusher_) return;
    // It goes on with the next session, so that nobody needs to wait for it.
    constexpr double kLeast = 0.5, kMost = 10;
    double seconds = plan_.is_limited() ? std::clamp(plan_.left(), kLeast, kMost) : kMost;
    if (io_.interrupts && io_.interrupts() > 0) seconds = kLeast;
    const db::Pushed pushed = pusher_->finish(seconds);
    if (pushed.trials > 0)
      events_.tell(fmt::format("{} confirmed trial{} went to {}", pushed.trials, pushed.trials == 1 ? "" : "s", name_));
    if (pushed.waiting > 0)
      events_.tell(fmt::format("{} did not go to {} yet{}; the next session sends them, or `{}`",
                               pushed.waiting == 1 ? "1 record" : fmt::format("{} records", pushed.waiting), name_,
                               pushed.why.empty() ? "" : fmt::format(" ({})", pushed.why), command_));
  }
  TeamNews(const TeamNews&) = delete;

  db::Pusher* pusher() { return pusher_ ? &*pusher_ : nullptr; }

 private:
  const std::string name_, command_;
  const TimePlan& plan_;
  const Events& events_;
  const TunerIo& io_;
  std::optional<db::Pusher> pusher_;
};

}  // namespace

Status tune(const OperatorTable& operators, const TunerFlags& given, const TunerIo& io) {
  const SteadyClock clock;
  TunerFlags f = given;
  TimePlan plan(clock, clock.now(), f.seconds);
  const Events events{[&io](const std::string& line) { io.err << "tuner: " << clean_line(line) << std::endl; }};
  PhaseLine phase(events, clock, plan);
  if (f.list) {
    list_tasks(operators, io.out);
    return absl::OkStatus();
  }
  HONE_RETURN_IF_ERROR(check_numbers(f));
  std::vector<WeightedWorkload> workloads;
  if (!f.make_workload) {
    HONE_ASSIGN_OR_RETURN(workloads, workloads_of(operators, f));
  }
  HONE_RETURN_IF_ERROR(files_of(f).check());
  std::vector<ModelGraph> imported;
  const bool is_model = !f.model.empty();
  if (is_model) imported = import_model(operators, f, events);
  if (f.print_tasks) {
    io.out << tasks_text(model_work_here(operators, f, std::move(imported), events).tasks) << std::flush;
    return absl::OkStatus();
  }
  if (!f.plot.empty())
    if (const Status s = check_writable(f.plot); !s.ok()) return usage_error("--plot " + message_of(s));
  if (!f.hub) {
    HONE_ASSIGN_OR_RETURN(const Team team, open_team(f.team_flags, f.credentials, f.insecure));
    f.hub = team.hub, f.team = team.source;
    f.has_hub_credentials = team.hub != nullptr;
  }
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::Store> store, db::open_for_writing(f.db));
  HONE_ASSIGN_OR_RETURN(Place place, find_place(f));
  TeamNews news(f, store->path(), plan, events, io);
  if (f.make_workload) workloads.push_back({f.make_workload(place.target)});
  if (f.from_tophub) {
    if (!f.hub) return usage_error("--from-tophub: give the URL of a team's tophub");
    HONE_ASSIGN_OR_RETURN(Missed missed, missed_workloads(operators, place.target, *f.hub));
    const std::string others = left_out(missed);
    if (missed.workloads.empty()) {
      io.out << (f.json ? "{\"tasks\":[],\"trials\":0}\n"
                        : fmt::format("nothing to tune: builds miss nothing for {} in {}{}\n", to_string(place.target),
                                      f.hub->name(), others))
             << std::flush;
      return absl::OkStatus();
    }
    events.tell(fmt::format("{} workload{} that builds miss in {}{}", missed.workloads.size(),
                            missed.workloads.size() == 1 ? "" : "s", f.hub->name(), others));
    if (f.trials > 0 && f.trials < missed.workloads.size()) missed.workloads.resize(f.trials);
    workloads = std::move(missed.workloads);
  }
  const std::string target = to_string(place.target);
  HostCores cores(clock);
  FoundPrior prior;
  const std::function<std::unique_ptr<Progress>()> new_progress = [&]() -> std::unique_ptr<Progress> {
    if (io.on_progress) return std::make_unique<ToldProgress>(io.on_progress, clock);
    return std::make_unique<LineProgress>(io.err, io.terminal, clock, io.size);
  };
  const TuneServices services{operators, f,     events, new_progress, io.interrupts, place,
                              *store,    cores, clock,  plan,         prior.model,   news.pusher()};
  ModelWork model;
  ModelBefore before;
  std::optional<ModelNow> now;
  if (is_model) {
    HONE_ASSIGN_OR_RETURN(model, model_with_measured(operators, imported, place.target, *store, f.team, events));
    workloads = model.tasks;
    HONE_USER_CHECK(f.trials == 0 || f.trials >= workloads.size())
        << "--trials: " << f.trials << " for the " << workloads.size() << " tasks of " << f.model
        << "; the default of each is one";
    HONE_ASSIGN_OR_RETURN(before, known_before(model, place.target, *store, f.team));
    now = look_at_model(before, workloads, services, phase);
  }
  if (plan.is_limited() && now && now->build_seconds > plan.left())
    events.tell(
        fmt::format("one build of the model takes {:.1f} s, and {:.1f} s of --seconds are left: the whole is not timed",
                    now->build_seconds, plan.left()));
  if (begins_warm(f) && !f.confirm) {
    HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::TopHub> hub,
                          db::TopHub::open(db::usual_hub(store->path(), f.team)));
    HONE_ASSIGN_OR_RETURN(prior, find_prior(*hub, place.target.kind));
    events.tell(prior.line);
  }
  if (f.confirm) return confirm(f, io, workloads, model, before, services, phase);
  SessionOptions options = session_options(f, place.devices, workloads.size(), workloads);
  share_time(plan, is_model, now, options);
  HONE_ASSIGN_OR_RETURN(const MeasuredTasks measured, measure_tasks(workloads, options, services));
  const auto& [tasks, session, outcome, is_database_lost] = measured;
  Status drawn;
  if (!f.plot.empty()) {
    drawn = is_database_lost ? absl::OkStatus()
                             : write_plot(f, *store, target, session, tasks, outcome.ok() ? *outcome : TasksOutcome());
    if (!drawn.ok() && (!outcome.ok() || outcome->interrupted)) events.tell("--plot: " + message_of(drawn));
  }
  if (!outcome.ok()) return outcome.status();
  if (io.on_outcome) io.on_outcome(outcome->tasks[0]);
  for (const auto& task : tasks)
    if (!task->ranker.last_error().empty())
      events.tell(task->label + ": the cost model failed, the search went on without it: " + task->ranker.last_error());
  bool is_complete = !outcome->interrupted;
  if (!is_model) {
    report(f, io, target, store->path(), tasks, *outcome, {});
  } else {
    HONE_ASSIGN_OR_RETURN(const Alternatives alternatives,
                          measure_alternatives(imported, *outcome, model.alternatives, services));
    is_complete = alternatives.is_complete;
    // With the new measurements its layers may be others; if the time is up it is not built.
    const Events said_before;
    if (plan.left() > 0) {
      HONE_ASSIGN_OR_RETURN(model, model_with_measured(operators, imported, place.target, *store, f.team, said_before));
    }
    HONE_RETURN_IF_ERROR(report_model(f, io, model.variants, before, tasks, *outcome, services, phase));
    const std::string rest = not_reached(f, *outcome, workloads, tasks, alternatives.not_measured);
    if (!rest.empty()) events.tell(rest);
  }
  if (is_complete) return drawn;
  size_t trials = 0;
  for (const SessionOutcome& o : outcome->tasks) trials += o.trials;
  return interrupted_error(
      fmt::format("interrupted; {} trials are kept in {}, the same command resumes", trials, store->path()));
}

}  // namespace hone
