#include "tuner/cli/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/text.h"
#include "rpc/ir/encode.h"
#include "tuner/cli/model.h"
#include "tuner/cli/report.h"
#include "tuner/cli/tasks_file.h"
#include "tuner/cli/whole_model.h"
#include "tuner/db_trial_log.h"
#include "tuner/measure/embedded.h"
#include "tuner/measure/host_cores.h"
#include "tuner/measure/reference_job.h"
#include "tuner/measure/remote.h"
#include "tuner/plot/curve.h"
#include "tuner/session.h"
#include "tuner/transfer/seeds.h"
#include "tuner/transfer/warm_start.h"
#include "tuner/tuning_task.h"

namespace hone {
namespace {

using namespace std::chrono_literals;

// Half of a first batch: configs that were fast elsewhere need not be fast here.
constexpr size_t kMostSeeds = 4;
constexpr size_t kModelFinalists = 3;

// The tasks: one workload, or those of a file.
StatusOr<std::vector<WeightedWorkload>> workloads_of(const OperatorTable& operators, const TunerFlags& f) {
  if (!f.model.empty()) {
    HONE_USER_CHECK(f.task.empty() && f.workload.empty() && f.args.empty() && f.tasks.empty())
        << "--model names its workloads itself: --task, --args, --workload and --tasks exclude it";
    return std::vector<WeightedWorkload>{};  // they depend on the target
  }
  HONE_USER_CHECK(f.bind.empty() && f.shapes.empty() && !f.print_tasks)
      << "--bind, --shape and --print-tasks belong to --model";
  if (!f.tasks.empty()) {
    HONE_USER_CHECK(f.task.empty() && f.workload.empty() && f.args.empty())
        << "--tasks names its workloads itself: --task, --args and --workload exclude it";
    HONE_ASSIGN_OR_RETURN(std::vector<WeightedWorkload> tasks, read_tasks(operators, f.tasks));
    HONE_USER_CHECK(f.trials >= tasks.size()) << "--trials: " << f.trials << " for the " << tasks.size() << " tasks of "
                                              << f.tasks << "; the default of each is one";
    return tasks;
  }
  HONE_USER_CHECK(f.task.empty() || f.workload.empty()) << "--task and --workload exclude each other";
  if (!f.workload.empty()) {
    HONE_USER_CHECK(f.args.empty()) << "--args belongs to --task; --workload says everything itself";
    return std::vector<WeightedWorkload>{{Workload::parse(operators, f.workload)}};
  }
  HONE_USER_CHECK(!f.task.empty()) << "--task is missing; known tasks: " << operators.names();
  return std::vector<WeightedWorkload>{{Workload::parse(operators, f.task, f.args)}};
}

std::string kind_of(const std::string& target) { return target.substr(0, target.find(' ')); }

// The measurer of the session, and the target of its candidates.
struct Place {
  std::unique_ptr<Embedded> own;  ///< null on a fleet
  wire::ClientOptions client;
  Target target;
  std::string device_target;  ///< as the devices registered the target
  size_t devices = 1;         ///< of that target
};

StatusOr<Place> find_place(const TunerFlags& f) {
  Place place;
  const std::string kind = kind_of(f.target);
  place.target = Target::parse(f.target);  // a wrong target is reported before anything starts
  DeviceQuery query;
  if (f.tracker.empty()) {
    if (!f.device.empty()) return usage_error("--device names a device of a tracker: give --tracker too");
    if (!f.labels.empty()) return usage_error("--label chooses among the devices of a tracker: give --tracker too");
    if (const auto& c = f.credentials; !(c.ca + c.certificate + c.key + c.token).empty())
      return usage_error("--tls-ca, --tls-cert, --tls-key and --token-file are for a tracker: give --tracker too");
    HONE_ASSIGN_OR_RETURN(place.own, Embedded::start(sibling_programs(), kind));
    place.client.tracker = place.own->address();
    place.client.backoff.first = 20ms;
    query.where = "on this machine";
    query.tracker_timeout = 20s;
    query.device_timeout = place.target.is_gpu() ? 60s : 20s;  // drivers may have to wake up their GPUs
    query.while_waiting = [&own = *place.own] { return own.check(); };
  } else {
    auto address = wire::Address::parse(f.tracker);
    if (!address.ok()) return usage_error(fmt::format("--tracker: {}", message_of(address.status())));
    HONE_ASSIGN_OR_RETURN(place.client.credentials, wire::load_credentials(f.credentials));
    HONE_RETURN_IF_ERROR(wire::check_protected(*address, place.client.credentials, f.insecure, "--tracker"));
    place.client.tracker = *address;
  }
  place.client.seed = wire::Uuid::random().value[0];
  query.client = place.client;
  query.kind = kind;
  query.device_key = f.device;
  query.labels = f.labels;
  HONE_ASSIGN_OR_RETURN(std::vector<wire::DeviceInfo> devices, find_devices(query));
  std::sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  std::string offered;
  for (const wire::DeviceInfo& d : devices) {
    const Target theirs = Target::parse(d.target);
    Target ours = place.target.completed_by(theirs);
    if (f.threads > 0 && !ours.is_gpu()) ours.threads = f.threads;
    if (ours.arch == theirs.arch && ours.os == theirs.os && ours.mcpu == theirs.mcpu && ours.mattr == theirs.mattr) {
      place.target = ours;
      place.device_target = d.target;
      place.devices = static_cast<size_t>(
          std::count_if(devices.begin(), devices.end(), [&](const auto& other) { return other.target == d.target; }));
      return place;
    }
    offered += fmt::format("{}{} ({})", offered.empty() ? "" : ", ", d.key, d.target);
  }
  return no_device_error(fmt::format("--target: no device serves '{}'; there {}: {}", f.target,
                                     devices.size() == 1 ? "is" : "are", offered));
}

std::string shell_quoted(const std::string& text) {
  return text.find_first_of(" ()[]?*&;|<>$'\"") == std::string::npos ? text : "'" + text + "'";
}

std::string build_command(const TunerFlags& f) {
  std::string line = "tensorc " + shell_quoted(f.model);
  for (const std::string& bind : f.bind) line += " --bind " + shell_quoted(bind);
  for (const std::string& shape : f.shapes) line += " --shape " + shell_quoted(shape);
  if (f.target != "llvm") line += " --target " + shell_quoted(f.target);
  if (f.threads > 0) line += fmt::format(" --threads {}", f.threads);
  if (!f.db.empty()) line += " --db " + shell_quoted(f.db);
  return line;
}

std::string next_command(const TunerFlags& f, const Workload& w) {
  std::string args = f.args;
  if (f.task.empty()) args = args_of(w);
  std::string line = fmt::format("tensorc --task {}", f.task.empty() ? w.task() : f.task);
  if (!args.empty()) line += " --args " + shell_quoted(args);
  line += " --target " + shell_quoted(f.target);
  if (!f.db.empty()) line += " --db " + shell_quoted(f.db);
  return line + " --bench";
}

int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

SessionOptions session_options(const TunerFlags& f, size_t devices, size_t tasks) {
  SessionOptions o;
  o.devices = devices;
  o.trials = f.trials > 0 ? f.trials : kModelTrials * tasks;
  o.is_model = !f.model.empty();
  o.seconds = f.seconds;
  o.stop_after = f.stop_after;
  o.batch = f.batch;
  o.fresh = f.fresh;
  o.searcher = f.search;
  o.seed = f.seed;
  o.profile.repeats = f.repeat;
  o.profile.min_repeat_ms = f.min_repeat_ms;
  // Of a model each of many workloads has its finalists, and few trials that they come from.
  o.finalists = o.is_model ? std::min(f.finalists, kModelFinalists) : f.finalists;
  o.profile.cold_constants = o.is_model;
  if (!f.refine) o.profile.refine_factor = 1e-9;
  o.profile.build_timeout_s = f.timeout;
  o.profile.run_timeout_s = f.timeout;
  return o;
}

}  // namespace

void list_tasks(const OperatorTable& operators, std::ostream& out) {
  for (const auto& op : operators.rows()) {
    std::string args;
    for (const Attribute& a : op->attributes)
      args += fmt::format("{}{}={}", args.empty() ? "" : ",", a.name, a.fallback);
    out << op->name << ": " << op->summary << "\n    --args " << args << "\n";
  }
}

namespace {

// Searchers without a model are baselines: they get no prior and no seeds.
bool begins_warm(const TunerFlags& f) {
  return f.warm_start && !f.make_searcher && (f.search == "xgb" || f.search == "anneal");
}

// Seeds from foreign records of the workload, up to half a batch.
StatusOr<std::vector<Config>> seeds_of(const TuningTask& task, const Target& target, db::Store& store,
                                       std::ostream& err) {
  HONE_ASSIGN_OR_RETURN(ForeignSeeds seeds,
                        foreign_seeds(store.foreign(), task.workload, target, task.space, kMostSeeds));
  if (seeds.records > 0)
    err << fmt::format("tuner: {} seed{} from {} foreign record{} of {}", seeds.configs.size(),
                       seeds.configs.size() == 1 ? "" : "s", seeds.records, seeds.records == 1 ? "" : "s",
                       seeds.workload)
        << std::endl;
  return std::move(seeds.configs);
}

StatusOr<std::unique_ptr<TuningTask>> make_task(const WeightedWorkload& w, const Target& target, const TunerFlags& f,
                                                HostCores& cores, size_t most_features, const std::string& prior,
                                                db::Store& store, std::ostream& err) {
  TuningTaskOptions options;
  options.label = short_text(w.workload);
  options.weight = w.weight;
  options.narrowing = f.narrowing;
  options.seed = f.seed;
  options.most_features = most_features;
  auto task = std::make_unique<TuningTask>(w.workload, target, options, cores);
  if (!prior.empty()) HONE_RETURN_IF_ERROR(task->load_prior(prior));
  std::vector<Config> seeds;
  if (begins_warm(f)) {
    HONE_ASSIGN_OR_RETURN(seeds, seeds_of(*task, target, store, err));
  }
  if (f.make_searcher)
    task->searcher = f.make_searcher(task->space);
  else
    HONE_RETURN_IF_ERROR(task->begin_search(f.search, std::move(seeds)));
  return task;
}

RemoteOptions remote_options(const TunerFlags& f, const Place& place,
                             const std::vector<std::unique_ptr<TuningTask>>& tasks) {
  RemoteOptions remote;
  remote.client = place.client;
  remote.open.session = wire::Uuid::random();
  remote.open.title =
      tasks.size() == 1 ? tasks[0]->text : fmt::format("{} tasks: {}, ...", tasks.size(), tasks[0]->label);
  remote.open.target_kind = place.target.kind;
  remote.open.device_key = f.device;
  remote.open.labels = f.labels;
  remote.open.weight = f.weight;
  remote.open.priority = f.priority;
  remote.open.target = place.device_target;
  for (const auto& task : tasks)
    remote.references.push_back(reference_job(define(task->workload), place.target, f.timeout));
  remote.encode = [](const Module& m) { return encode(m); };
  if (place.own) remote.watch = [&own = *place.own] { return own.check(); };
  return remote;
}

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
    const ReportContext context{task.workload, target, task.space, db, next_command(f, task.workload)};
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
    text = j.dump();
  }
  io.out << text << (f.json ? "\n" : "") << std::flush;
}

// What was tuned as tensorc will find it, beside the defaults: each variant by itself.
StatusOr<std::vector<WholeModel>> compare_with_default(const std::vector<ModelGraph>& variants, const Target& target,
                                                       const db::Store& store, const TunerIo& io) {
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::TopHub> hub, db::TopHub::open(db::usual_hub(store.path())));
  std::vector<WholeModel> out;
  for (const ModelGraph& v : variants) {
    io.err << "tuner: building the model with default and with tuned configs"
           << (v.name.empty() ? "" : " for " + v.name) << std::endl;
    out.push_back(compare_whole(v.graph, target, *hub, io.interrupts));
    out.back().variant = v.name;
  }
  return out;
}

// The report of the tasks, then what they brought to the whole; one object of both for --json.
Status report_model(const TunerFlags& f, const TunerIo& io, const Target& target, const db::Store& store,
                    const std::vector<ModelGraph>& variants, const std::vector<std::unique_ptr<TuningTask>>& tasks,
                    const TasksOutcome& outcome) {
  const std::string text = to_string(target);
  if (!f.json) report(f, io, text, store.path(), tasks, outcome, {});
  HONE_ASSIGN_OR_RETURN(const std::vector<WholeModel> wholes, compare_with_default(variants, target, store, io));
  if (f.json) {
    report(f, io, text, store.path(), tasks, outcome, wholes);
  } else {
    for (const WholeModel& whole : wholes) io.out << to_string(whole);
    io.out << fmt::format("next      {}\n", build_command(f)) << std::flush;
  }
  if (std::all_of(wholes.begin(), wholes.end(), [](const WholeModel& w) { return w.different.empty(); }))
    return absl::OkStatus();
  return Status(absl::StatusCode::kInternal,
                "the model with tuned configs does not give what it gives with default ones");
}

}  // namespace

Status tune(const OperatorTable& operators, const TunerFlags& f, const TunerIo& io) {
  HONE_ASSIGN_OR_RETURN(std::vector<WeightedWorkload> workloads, workloads_of(operators, f));
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
    if (const Status s = plot::check_writable(f.plot); !s.ok())
      return usage_error(fmt::format("--plot: {}", message_of(s)));
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::Store> store, db::open_for_writing(f.db));
  HONE_ASSIGN_OR_RETURN(Place place, find_place(f));
  const std::string target = to_string(place.target);
  ModelWork model;
  if (!f.model.empty()) {
    model = model_work(operators, std::move(imported), place.target, io.err);
    workloads = model.tasks;
    HONE_USER_CHECK(f.trials == 0 || f.trials >= workloads.size())
        << "--trials: " << f.trials << " for the " << workloads.size() << " tasks of " << f.model
        << "; the default of each is one";
  }

  const SteadyClock clock;
  HostCores cores(clock);
  FoundPrior prior;
  if (begins_warm(f)) {
    HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::TopHub> hub, db::TopHub::open(db::usual_hub(store->path())));
    HONE_ASSIGN_OR_RETURN(prior, find_prior(*hub, place.target.kind));
    io.err << "tuner: " << clean_line(prior.line) << std::endl;
  }
  std::vector<std::unique_ptr<TuningTask>> tasks;
  for (const WeightedWorkload& w : workloads) {
    HONE_ASSIGN_OR_RETURN(std::unique_ptr<TuningTask> task,
                          make_task(w, place.target, f, cores, CompiledCandidates::kMostFeatures / workloads.size(),
                                    prior.model, *store, io.err));
    tasks.push_back(std::move(task));
  }
  RemoteMeasurer measurer(remote_options(f, place, tasks));
  HONE_RETURN_IF_ERROR(measurer.wait_open(10s));

  DbTrialLog log(*store);
  LineProgress progress(io.err, io.terminal, clock, io.size);
  const SessionServices services{measurer, log, cores, progress, clock, unix_ms, io.interrupts};
  std::vector<TaskSetup> setups;
  for (const auto& task : tasks)
    // A copy has no operations, and its speed must be above 0 all the same.
    setups.push_back({task->text, target, task->label, std::max(1.0, flops(task->workload)), task->weight, task->space,
                      task->candidates, *task->searcher});
  const StatusOr<TasksOutcome> outcome = run_tasks(setups, services, session_options(f, place.devices, tasks.size()));
  Status drawn;
  if (!f.plot.empty()) {
    drawn = db::is_lost(outcome.status())
                ? absl::OkStatus()
                : write_plot(f, *store, target, measurer.session(), tasks, outcome.ok() ? *outcome : TasksOutcome());
    if (!drawn.ok() && (!outcome.ok() || outcome->interrupted))
      io.err << "tuner: --plot: " << message_of(drawn) << std::endl;
  }
  if (!outcome.ok()) return log.rescued(outcome.status());
  if (io.on_outcome) io.on_outcome(outcome->tasks[0]);
  for (const auto& task : tasks)
    if (!task->ranker.last_error().empty())
      io.err << "tuner: " << task->label
             << ": the cost model failed, the search went on without it: " << clean_line(task->ranker.last_error())
             << std::endl;
  if (f.model.empty())
    report(f, io, target, store->path(), tasks, *outcome, {});
  else
    HONE_RETURN_IF_ERROR(report_model(f, io, place.target, *store, model.variants, tasks, *outcome));
  if (!outcome->interrupted) return drawn;
  size_t trials = 0;
  for (const SessionOutcome& o : outcome->tasks) trials += o.trials;
  return interrupted_error(
      fmt::format("interrupted; {} trials are kept in {}, the same command resumes", trials, store->path()));
}

}  // namespace hone
