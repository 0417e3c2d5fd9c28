#include "tuner/driver/measure_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/key.h"
#include "base/text.h"
#include "compiler/build/choose_config.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/user_operator.h"
#include "db/lookup.h"
#include "rpc/ir/encode.h"
#include "tuner/measure/reference_job.h"
#include "tuner/measure/remote.h"
#include "tuner/session/db_trial_log.h"
#include "tuner/transfer/seeds.h"

namespace hone {
namespace {

using namespace std::chrono_literals;

// Half of a first batch: configs that were fast elsewhere need not be fast here.
constexpr size_t kMostSeeds = 4;
constexpr size_t kModelFinalists = 3;
// Repeats of candidates near the best: 5 ms where others have 2.
constexpr double kRefinedTimesAsLong = 2.5;

int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Seeds from foreign records of the workload, up to half a batch.
StatusOr<std::vector<Config>> seeds_of(const TuningTask& task, const Target& target, db::Store& store,
                                       const Events& events) {
  HONE_ASSIGN_OR_RETURN(ForeignSeeds seeds,
                        foreign_seeds(store.foreign(), task.workload, target, task.space, kMostSeeds));
  if (seeds.records > 0)
    events.tell(fmt::format("{} seed{} from {} foreign record{} of {}", seeds.configs.size(),
                            seeds.configs.size() == 1 ? "" : "s", seeds.records, seeds.records == 1 ? "" : "s",
                            seeds.workload));
  return std::move(seeds.configs);
}

// The config that the lookup chain knows, whether or not a build would take it: a row of a package, of another CPU or
// of a near workload, adapted. The first batch measures it beside the default. Nothing where nothing is known, or where
// it was measured into `store` itself.
StatusOr<std::optional<Config>> known_config(const TuningTask& task, const Target& target, db::TopHub& hub,
                                             const db::Store& store) {
  HONE_ASSIGN_OR_RETURN(ChosenConfig known,
                        choose_config(task.workload, target, task.space, hub, ConfigUse::kAlone, Transfer::kAny));
  const bool is_own = known.source.starts_with("best (exact") && known.from == store.path();
  if (is_own || known.is_default() || known.config == task.space.default_config()) return std::nullopt;
  return std::move(known.config);
}

// `hub`: results from elsewhere; null if the search does not begin warm. `begun`: how many tasks begin with that.
StatusOr<std::unique_ptr<TuningTask>> make_task(const WeightedWorkload& w, const Target& target, const TuneRequest& f,
                                                HostCores& cores, size_t most_features, const std::string& prior,
                                                db::Store& store, db::TopHub* hub, size_t& begun,
                                                const Events& events) {
  TuningTaskOptions options;
  options.label = short_text(w.workload);
  options.weight = w.weight;
  options.has_warm_constants = w.times_per_constant >= 2;
  options.narrowing = f.narrowing;
  options.seed = f.seed;
  options.most_features = most_features;
  auto task = std::make_unique<TuningTask>(w.workload, target, options, cores);
  if (!prior.empty()) HONE_RETURN_IF_ERROR(task->load_prior(prior));
  std::vector<Config> seeds;
  if (begins_warm(f)) {
    HONE_ASSIGN_OR_RETURN(seeds, seeds_of(*task, target, store, events));
    HONE_ASSIGN_OR_RETURN(std::optional<Config> known, known_config(*task, target, *hub, store));
    if (known) {
      seeds.insert(seeds.begin(), std::move(*known));
      ++begun;
    }
  }
  if (f.make_searcher)
    task->searcher = f.make_searcher(task->space);
  else
    HONE_RETURN_IF_ERROR(task->begin_search(f.search, std::move(seeds)));
  return task;
}

RemoteOptions remote_options(const TuneRequest& f, const Place& place,
                             const std::vector<std::unique_ptr<TuningTask>>& tasks) {
  RemoteOptions remote;
  remote.client = place.client;
  remote.open.session = wire::Uuid::random();
  remote.open.title = !f.model.empty()    ? "model " + std::filesystem::path(f.model).filename().string()
                      : tasks.size() == 1 ? tasks[0]->text
                                          : fmt::format("{} tasks: {}, ...", tasks.size(), tasks[0]->label);
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

// The text behind the hash in the keys of what a user defines.
Status keep_definition(const Workload& w, db::Store& store) {
  if (!is_user_operator(w)) return absl::OkStatus();
  const std::string text(user_definition(w));
  return store.definitions().put({key_hash(text), "operator", text}).status();
}

double constant_bytes(const std::vector<WeightedWorkload>& model) {
  double bytes = 0;
  for (const WeightedWorkload& w : model)
    for (const auto& [tensor, role] : define(w.workload).inputs)
      if (role == ParamRole::kConstant)
        bytes += w.weight / w.times_per_constant * static_cast<double>(element_count(tensor->shape)) *
                 static_cast<double>(tensor->buffer->dtype.bytes());
  return bytes;
}

}  // namespace

SessionOptions session_options(const TuneRequest& f, size_t devices, size_t tasks,
                               const std::vector<WeightedWorkload>& model) {
  SessionOptions o;
  o.devices = devices;
  o.trials = f.trials > 0 ? f.trials : f.model.empty() && !f.from_tophub ? kTrials : kModelTrials * tasks;
  o.is_model = !f.model.empty();
  o.seconds = f.seconds;
  o.stop_after = f.stop_after;
  o.batch = f.batch;
  o.fresh = f.fresh;
  o.searcher = f.search;
  o.seed = f.seed;
  o.profile.repeats = f.repeat;
  o.profile.min_repeat_ms = f.min_repeat_ms;
  o.profile.refine_repeat_ms = kRefinedTimesAsLong * f.min_repeat_ms;
  // In a model, each of many workloads has finalists of its own, chosen from few trials.
  o.finalists = o.is_model ? std::min(f.finalists, kModelFinalists) : f.finalists;
  o.profile.cold_constants = o.is_model;
  if (o.is_model) o.profile.cold_bytes = static_cast<uint64_t>(std::clamp(constant_bytes(model), 1.0, 0x1p50));
  if (!f.refine) o.profile.refine_factor = 1e-9;
  o.profile.build_timeout_s = f.timeout;
  o.profile.run_timeout_s = f.timeout;
  return o;
}

bool begins_warm(const TuneRequest& f) {
  return f.warm_start && !f.make_searcher && (f.search == "xgb" || f.search == "anneal");
}

StatusOr<MeasuredTasks> measure_tasks(const std::vector<WeightedWorkload>& workloads, const SessionOptions& options,
                                      const TuneServices& services) {
  const TuneRequest& f = services.request;
  const Place& place = services.place;
  db::Store& store = services.store;
  const Clock& clock = services.clock;
  const std::string target = to_string(place.target);
  std::unique_ptr<db::TopHub> hub;
  if (begins_warm(f)) {
    HONE_ASSIGN_OR_RETURN(hub, db::TopHub::open(db::usual_hub(store.path(), f.team)));
    std::vector<db::TeamKey> keys;
    for (const WeightedWorkload& w : workloads) keys.push_back({to_string(w.workload), target});
    HONE_RETURN_IF_ERROR(hub->prefetch(keys));
  }
  std::vector<std::unique_ptr<TuningTask>> tasks;
  size_t begun = 0;
  const auto start = clock.now();
  auto told = start;
  for (const WeightedWorkload& w : workloads) {
    if (const auto now = clock.now(); now - told >= 2s) {
      told = now;
      services.events.tell(fmt::format("preparing workloads {}/{}", tasks.size(), workloads.size()));
    }
    HONE_ASSIGN_OR_RETURN(
        std::unique_ptr<TuningTask> task,
        make_task(w, place.target, f, services.cores, CompiledCandidates::kMostFeatures / workloads.size(),
                  services.prior, store, hub.get(), begun, services.events));
    tasks.push_back(std::move(task));
  }
  if (begun > 0)
    services.events.tell(
        fmt::format("{} of {} workloads begin{} with a config known elsewhere, measured beside the default", begun,
                    tasks.size(), begun == 1 ? "s" : ""));
  RemoteMeasurer measurer(remote_options(f, place, tasks));
  HONE_RETURN_IF_ERROR(measurer.wait_open(10s));
  for (const auto& task : tasks) HONE_RETURN_IF_ERROR(keep_definition(task->workload, store));
  DbTrialLog log(store, f.hub && services.pusher ? f.hub->name() : "", [&services] {
    if (services.pusher) services.pusher->wake();
  });
  const std::unique_ptr<Progress> progress = services.new_progress();
  std::vector<TaskSetup> setups;
  for (size_t t = 0; t < tasks.size(); ++t) {
    const TuningTask& task = *tasks[t];
    // A copy has no operations, and its speed must be above 0 all the same.
    setups.push_back({task.text, target, task.label, std::max(1.0, flops(task.workload)), task.weight, task.space,
                      tasks[t]->candidates, *task.searcher, task.has_warm_constants, workloads[t].seconds_now,
                      workloads[t].is_tuned_now});
  }
  // Preparing the workloads, up to some seconds of hundreds, is a part of the time.
  SessionOptions of_session = options;
  constexpr double kLeastSeconds = 0.1;
  if (options.seconds > 0)
    of_session.seconds =
        std::max(kLeastSeconds, options.seconds - std::chrono::duration<double>(clock.now() - start).count());
  StatusOr<TasksOutcome> outcome =
      run_tasks(setups, {measurer, log, services.cores, *progress, clock, unix_ms, services.interrupts}, of_session);
  const bool is_lost = db::is_lost(outcome.status());
  if (!outcome.ok()) outcome = log.rescued(outcome.status());
  return MeasuredTasks{std::move(tasks), measurer.session(), std::move(outcome), is_lost};
}

}  // namespace hone
