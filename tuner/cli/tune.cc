#include "tuner/cli/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/cli.h"
#include "base/clock.h"
#include "compiler/ops/reference.h"
#include "rpc/ir/encode.h"
#include "tuner/cli/report.h"
#include "tuner/db_trial_log.h"
#include "tuner/measure/embedded.h"
#include "tuner/measure/host_cores.h"
#include "tuner/measure/remote.h"
#include "tuner/session.h"

namespace hone {
namespace {

using namespace std::chrono_literals;

// Of the inputs that candidates and reference are compared on.
constexpr uint64_t kInputSeed = 1;
// Kinds that later devices serve: a fine target without a device, unlike a word that is no kind at all.
constexpr std::string_view kOtherKinds[] = {"cuda", "opencl"};

Workload workload_of(const TunerFlags& f) {
  HONE_USER_CHECK(f.task.empty() || f.workload.empty()) << "--task and --workload exclude each other";
  if (!f.workload.empty()) {
    HONE_USER_CHECK(f.args.empty()) << "--args belongs to --task; --workload says everything itself";
    return Workload::parse(f.workload);
  }
  std::string known;
  for (const TaskInfo& t : task_table()) known += (known.empty() ? "" : ", ") + std::string(t.name);
  HONE_USER_CHECK(!f.task.empty()) << "--task is missing; known tasks: " << known;
  return Workload::parse(f.task, f.args);
}

std::string kind_of(const std::string& target) { return target.substr(0, target.find(' ')); }

// Where the session measures, and the target its candidates are made for.
struct Place {
  std::unique_ptr<Embedded> own;  ///< null on a fleet
  wire::ClientOptions client;
  Target target;
  std::string device_target;  ///< as the devices registered it
};

StatusOr<Place> find_place(const TunerFlags& f) {
  Place place;
  const std::string kind = kind_of(f.target);
  const bool other_kind = std::find(std::begin(kOtherKinds), std::end(kOtherKinds), kind) != std::end(kOtherKinds);
  if (!other_kind) place.target = Target::parse(f.target);  // what is wrong with it is said before anything starts
  DeviceQuery query;
  if (f.tracker.empty()) {
    if (!f.device.empty()) return usage_error("--device names a device of a tracker: give --tracker too");
    HONE_ASSIGN_OR_RETURN(place.own, Embedded::start(sibling_programs()));
    place.client.tracker = place.own->address();
    place.client.backoff.first = 20ms;
    query.where = "on this machine";
    query.tracker_timeout = 20s;
    query.device_timeout = other_kind ? 3s : 20s;
    query.while_waiting = [&own = *place.own] { return own.check(); };
  } else {
    auto address = wire::Address::parse(f.tracker);
    if (!address.ok()) return usage_error(fmt::format("--tracker: {}", message_of(address.status())));
    HONE_RETURN_IF_ERROR(wire::check_exposure(*address, f.insecure, "--tracker"));
    place.client.tracker = *address;
  }
  place.client.seed = wire::Uuid::random().value[0];
  query.client = place.client;
  query.kind = kind;
  query.device_key = f.device;
  HONE_ASSIGN_OR_RETURN(std::vector<wire::DeviceInfo> devices, find_devices(query));
  std::sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  std::string offered;
  for (const wire::DeviceInfo& d : devices) {
    const Target theirs = Target::parse(d.target);
    Target ours = place.target.completed_by(theirs);
    if (f.threads > 0) ours.threads = f.threads;
    if (ours.arch == theirs.arch && ours.os == theirs.os && ours.mcpu == theirs.mcpu && ours.mattr == theirs.mattr) {
      place.target = ours;
      place.device_target = d.target;
      return place;
    }
    offered += fmt::format("{}{} ({})", offered.empty() ? "" : ", ", d.key, d.target);
  }
  return no_device_error(fmt::format("--target: no device serves '{}'; there {}: {}", f.target, devices.size() == 1 ? "is" : "are", offered));
}

std::string shell_quoted(const std::string& text) {
  return text.find_first_of(" ()?*&;|<>$'\"") == std::string::npos ? text : "'" + text + "'";
}

std::string next_command(const TunerFlags& f, const Workload& w) {
  std::string args = f.args;
  if (f.task.empty())
    for (const auto& [name, value] : w.attributes) args += fmt::format("{}{}={}", args.empty() ? "" : ",", name, value);
  std::string line = fmt::format("tensorc --task {}", f.task.empty() ? w.task : f.task);
  if (!args.empty()) line += " --args " + shell_quoted(args);
  line += " --target " + shell_quoted(f.target);
  if (!f.db.empty()) line += " --db " + shell_quoted(f.db);
  return line + " --bench";
}

ReferenceJob reference_job(const Workload& w, const Target& target, double timeout) {
  ReferenceJob job;
  job.reference.samples = reference_samples(w, kInputSeed);
  const int64_t count = job.reference.samples.empty() ? output_elements(w) : static_cast<int64_t>(job.reference.samples.size());
  job.module = encode(reference_module(w, count, target.threads));
  const ErrorBounds bounds = error_bounds(w);
  job.reference.seed = kInputSeed;
  job.reference.rel_error = bounds.rel_error;
  job.reference.max_error = bounds.max_error;
  job.reference.timeout_s = std::max(60.0, timeout);
  return job;
}

int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

SessionOptions session_options(const TunerFlags& f) {
  SessionOptions o;
  o.trials = f.trials;
  o.seconds = f.seconds;
  o.stop_after = f.stop_after;
  o.batch = f.batch;
  o.fresh = f.fresh;
  o.searcher = f.search;
  o.seed = f.seed;
  o.profile.repeats = f.repeat;
  o.profile.min_repeat_ms = f.min_repeat_ms;
  o.profile.build_timeout_s = f.timeout;
  o.profile.run_timeout_s = f.timeout;
  return o;
}

}  // namespace

void list_tasks(std::ostream& out) {
  for (const TaskInfo& t : task_table()) {
    std::string args;
    for (const auto& [name, value] : t.defaults) args += fmt::format("{}{}={}", args.empty() ? "" : ",", name, value);
    out << t.name << ": " << t.summary << "\n    --args " << args << "\n";
  }
}

Status tune(const TunerFlags& f, const TunerIo& io) {
  const Workload workload = workload_of(f);
  const auto& names = searcher_names();
  if (std::find(names.begin(), names.end(), f.search) == names.end())
    return usage_error(fmt::format("--search: unknown searcher '{}'; known: {}", f.search, fmt::join(names, ", ")));
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<db::Store> store, db::open_for_writing(f.db));
  HONE_ASSIGN_OR_RETURN(Place place, find_place(f));
  const std::string target = to_string(place.target);
  const Space space = make_space(workload, place.target, f.narrowing);

  const SteadyClock clock;
  HostCores cores(clock);
  CompiledCandidates candidates(workload, place.target, space, cores, [](const Module& m) { return encode(m); });
  XgbOptions model_options;
  model_options.seed = f.seed;
  model_options.between_rounds = [&cores] { cores.breathe(); };
  const std::unique_ptr<CostModel> model = make_xgb_model(model_options);
  ModelRanker ranker(*model, kFeatureCount, [&candidates](const Config& c) {
    const Features* features = candidates.features(c);
    return features ? features->data() : nullptr;
  });
  SearchOptions search_options;
  search_options.seed = f.seed;
  HONE_ASSIGN_OR_RETURN(const std::unique_ptr<Searcher> searcher,
                        f.make_searcher ? f.make_searcher(space) : make_searcher(f.search, space, &ranker, search_options));

  RemoteOptions remote;
  remote.client = place.client;
  remote.open.session = wire::Uuid::random();
  remote.open.title = to_string(workload);
  remote.open.target_kind = place.target.kind;
  remote.open.device_key = f.device;
  remote.open.weight = f.weight;
  remote.open.target = place.device_target;
  remote.references = {reference_job(workload, place.target, f.timeout)};
  remote.encode = [](const Module& m) { return encode(m); };
  if (place.own) remote.watch = [&own = *place.own] { return own.check(); };
  RemoteMeasurer measurer(std::move(remote));
  HONE_RETURN_IF_ERROR(measurer.wait_open(10s));

  DbTrialLog log(*store);
  LineProgress progress(io.err, io.terminal, clock);
  const SessionSetup setup{to_string(workload), target, flops(workload), space, candidates, *searcher, measurer, log, cores, progress, clock, unix_ms, io.interrupts};
  HONE_ASSIGN_OR_RETURN(const SessionOutcome outcome, run_session(setup, session_options(f)));
  if (io.on_outcome) io.on_outcome(outcome);
  if (!ranker.last_error().empty()) io.err << "tuner: the cost model failed, the search went on without it: " << ranker.last_error() << std::endl;
  const ReportContext context{workload, target, space, store->path(), next_command(f, workload)};
  io.out << (f.json ? json_report(outcome, context) + "\n" : text_report(outcome, context)) << std::flush;
  if (outcome.interrupted)
    return interrupted_error(fmt::format("interrupted; {} trials are kept in {}, the same command resumes", outcome.trials, store->path()));
  return absl::OkStatus();
}

}  // namespace hone
