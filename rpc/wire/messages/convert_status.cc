// Messages for people: devices, summaries, the fleet's status.
#include <algorithm>

#include "rpc/wire/messages/convert_fields.h"

namespace hone::wire {
namespace detail {
namespace {

constexpr size_t kMaxPairs = 64;
constexpr double kMaxCelsius = 1000, kMaxClockMhz = 1e6;

template <class Map>
Status check_pairs(std::string_view field, const Map& map) {
  HONE_RETURN_IF_ERROR(check_count(field, map.size(), kMaxPairs));
  for (const auto& [key, value] : map) {
    HONE_RETURN_IF_ERROR(check_text(field, key, kMaxName));
    HONE_RETURN_IF_ERROR(check_text(field, value, kMaxName));
  }
  return absl::OkStatus();
}

Status check_numbers(std::string_view field, std::initializer_list<double> values) {
  for (const double value : values) HONE_RETURN_IF_ERROR(check_number(field, value, 1e300));
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::vector<std::string>> names_from(std::string_view field,
                                              const google::protobuf::RepeatedPtrField<std::string>& in) {
  HONE_RETURN_IF_ERROR(check_count(field, in.size(), kMaxPairs));
  for (const std::string& name : in) HONE_RETURN_IF_ERROR(check_text(field, name, kMaxName));
  return std::vector<std::string>(in.begin(), in.end());
}

StatusOr<DeviceInfo> device_from(const proto::DeviceInfo& in) {
  HONE_RETURN_IF_ERROR(check_text("device.key", in.key(), kMaxName));
  if (in.key().empty()) return bad("device.key", "empty");
  HONE_RETURN_IF_ERROR(check_target("device.target", in.target(), kMaxText));
  if (in.target().empty()) return bad("device.target", "empty");
  HONE_RETURN_IF_ERROR(check_text("device.model", in.model(), kMaxName));
  HONE_RETURN_IF_ERROR(check_pairs("device.versions", in.versions()));
  HONE_RETURN_IF_ERROR(check_pairs("device.labels", in.labels()));
  HONE_RETURN_IF_ERROR(check_text("device.compute_capability", in.compute_capability(), kMaxName));
  DeviceInfo out;
  HONE_ASSIGN_OR_RETURN(out.missing, names_from("device.missing", in.missing()));
  HONE_ASSIGN_OR_RETURN(out.features, names_from("device.features", in.features()));
  out.key = in.key();
  out.target = in.target();
  out.model = in.model();
  out.memory_bytes = in.memory_bytes();
  out.versions = {in.versions().begin(), in.versions().end()};
  out.labels = {in.labels().begin(), in.labels().end()};
  out.compute_capability = in.compute_capability();
  return out;
}

void device_to(const DeviceInfo& in, proto::DeviceInfo* out) {
  out->set_key(clean_line(in.key, kMaxName));
  out->set_target(clean_line(in.target, kMaxText));
  out->set_model(clean_line(in.model, kMaxName));
  out->set_memory_bytes(in.memory_bytes);
  for (const auto& [key, value] : in.versions)
    (*out->mutable_versions())[clean_line(key, kMaxName)] = clean_line(value, kMaxName);
  for (const auto& [key, value] : in.labels)
    (*out->mutable_labels())[clean_line(key, kMaxName)] = clean_line(value, kMaxName);
  for (const std::string& missing : in.missing) out->add_missing(clean_line(missing, kMaxName));
  for (const std::string& feature : in.features) out->add_features(clean_line(feature, kMaxName));
  out->set_compute_capability(clean_line(in.compute_capability, kMaxName));
}

namespace {

bool is_temperature(double x) { return std::isfinite(x) && std::abs(x) <= kMaxCelsius; }
bool is_clock(double x) { return std::isfinite(x) && x >= 0 && x <= kMaxClockMhz; }

// An impossible reading is dropped: sensors return nonsense now and then.
std::optional<double> only_if(bool (*possible)(double), const std::optional<double>& x) {
  return x && possible(*x) ? x : std::nullopt;
}

Status check_readings(std::string_view field, std::initializer_list<double> temperatures,
                      std::initializer_list<double> clocks) {
  if (!std::all_of(temperatures.begin(), temperatures.end(), &is_temperature)) return bad(field, "not a temperature");
  return std::all_of(clocks.begin(), clocks.end(), &is_clock) ? absl::OkStatus() : bad(field, "not a clock in MHz");
}

}  // namespace

StatusOr<DeviceHealth> health_from(const proto::DeviceHealth& in) {
  HONE_RETURN_IF_ERROR(check_text("health.device", in.device(), kMaxName));
  HONE_RETURN_IF_ERROR(check_text("health.throttled", in.throttled(), kMaxName));
  HONE_RETURN_IF_ERROR(check_text("health.governor", in.governor(), kMaxName));
  HONE_RETURN_IF_ERROR(check_number("health.load", in.load(), 1));
  HONE_RETURN_IF_ERROR(check_readings("health", {in.temperature_c()}, {in.clock_mhz()}));
  DeviceHealth out;
  out.device = in.device();
  out.throttled = in.throttled();
  out.governor = in.governor();
  if (in.has_temperature_c()) out.temperature_c = in.temperature_c();
  if (in.has_clock_mhz()) out.clock_mhz = in.clock_mhz();
  if (in.has_load()) out.load = in.load();
  return out;
}

void health_to(const DeviceHealth& in, proto::DeviceHealth* out) {
  out->set_device(clean_line(in.device, kMaxName));
  out->set_throttled(clean_line(in.throttled, kMaxName));
  out->set_governor(clean_line(in.governor, kMaxName));
  if (const auto t = only_if(&is_temperature, in.temperature_c)) out->set_temperature_c(*t);
  if (const auto mhz = only_if(&is_clock, in.clock_mhz)) out->set_clock_mhz(*mhz);
  if (in.load && std::isfinite(*in.load) && *in.load >= 0) out->set_load(std::min(*in.load, 1.0));
}

StatusOr<MachineState> machine_from(const proto::MachineState& in) {
  HONE_RETURN_IF_ERROR(check_text("result.machine.governor", in.governor(), kMaxName));
  HONE_RETURN_IF_ERROR(check_text("result.machine.throttled", in.throttled(), kMaxName));
  HONE_RETURN_IF_ERROR(check_readings("result.machine", {in.temperature_before_c(), in.temperature_after_c()},
                                      {in.clock_before_mhz(), in.clock_after_mhz()}));
  MachineState out;
  out.governor = in.governor();
  if (in.has_temperature_before_c()) out.temperature_before_c = in.temperature_before_c();
  if (in.has_temperature_after_c()) out.temperature_after_c = in.temperature_after_c();
  if (in.has_clock_before_mhz()) out.clock_before_mhz = in.clock_before_mhz();
  if (in.has_clock_after_mhz()) out.clock_after_mhz = in.clock_after_mhz();
  out.throttled = in.throttled();
  return out;
}

void machine_to(const MachineState& in, proto::MachineState* out) {
  out->set_governor(clean_line(in.governor, kMaxName));
  if (const auto t = only_if(&is_temperature, in.temperature_before_c)) out->set_temperature_before_c(*t);
  if (const auto t = only_if(&is_temperature, in.temperature_after_c)) out->set_temperature_after_c(*t);
  if (const auto mhz = only_if(&is_clock, in.clock_before_mhz)) out->set_clock_before_mhz(*mhz);
  if (const auto mhz = only_if(&is_clock, in.clock_after_mhz)) out->set_clock_after_mhz(*mhz);
  out->set_throttled(clean_line(in.throttled, kMaxName));
}

namespace {

StatusOr<ModelSummary> model_from(const proto::ModelSummary& in) {
  HONE_RETURN_IF_ERROR(check_numbers(
      "summary.model", {in.seconds(), in.default_seconds(), in.measured_seconds(), in.measured_default_seconds()}));
  HONE_RETURN_IF_ERROR(check_count("summary.model.slowest", in.slowest_size(), ModelSummary::kMaxTasks));
  ModelSummary out{in.seconds(),          in.default_seconds(),         in.tasks(), in.missing(), {},
                   in.measured_seconds(), in.measured_default_seconds()};
  for (const proto::TaskSummary& task : in.slowest()) {
    HONE_RETURN_IF_ERROR(check_text("summary.model.slowest", task.workload(), kMaxText));
    HONE_RETURN_IF_ERROR(check_text("summary.model.slowest", task.config_name(), kMaxText));
    HONE_RETURN_IF_ERROR(
        check_numbers("summary.model.slowest", {task.count(), task.seconds(), task.default_seconds()}));
    out.slowest.push_back(
        {task.workload(), task.count(), task.seconds(), task.default_seconds(), task.trials(), task.config_name()});
  }
  return out;
}

void model_to(const ModelSummary& in, proto::ModelSummary* out) {
  out->set_seconds(finite(in.seconds));
  out->set_default_seconds(finite(in.default_seconds));
  out->set_tasks(in.tasks);
  out->set_missing(in.missing);
  out->set_measured_seconds(finite(in.measured_seconds));
  out->set_measured_default_seconds(finite(in.measured_default_seconds));
  for (size_t i = 0; i < in.slowest.size() && i < ModelSummary::kMaxTasks; ++i) {
    const TaskSummary& task = in.slowest[i];
    proto::TaskSummary& to = *out->add_slowest();
    to.set_workload(clean_line(task.workload, kMaxText));
    to.set_count(finite(task.count));
    to.set_seconds(finite(task.seconds));
    to.set_default_seconds(finite(task.default_seconds));
    to.set_trials(task.trials);
    to.set_config_name(clean_line(task.config_name, kMaxText));
  }
}

}  // namespace

StatusOr<Summary> summary_from(const proto::Summary& in) {
  HONE_RETURN_IF_ERROR(check_numbers("summary", {in.best_gflops(), in.best_seconds(), in.trials_per_second()}));
  HONE_RETURN_IF_ERROR(check_count("summary.by_status", in.by_status_size(), kMaxPairs));
  for (const auto& [status, count] : in.by_status())
    HONE_RETURN_IF_ERROR(check_text("summary.by_status", status, kMaxName));
  HONE_RETURN_IF_ERROR(check_text("summary.best_config", in.best_config(), kMaxText));
  HONE_RETURN_IF_ERROR(check_text("summary.best_config_name", in.best_config_name(), kMaxText));
  Summary out;
  out.trials = in.trials();
  out.budget = in.budget();
  out.best_gflops = in.best_gflops();
  out.best_seconds = in.best_seconds();
  out.trials_per_second = in.trials_per_second();
  out.by_status = {in.by_status().begin(), in.by_status().end()};
  out.best_config = in.best_config();
  out.best_config_name = in.best_config_name();
  if (in.has_model()) {
    HONE_ASSIGN_OR_RETURN(out.model, model_from(in.model()));
  }
  return out;
}

void summary_to(const Summary& in, proto::Summary* out) {
  out->set_trials(in.trials);
  out->set_budget(in.budget);
  out->set_best_gflops(finite(in.best_gflops));
  out->set_best_seconds(finite(in.best_seconds));
  out->set_trials_per_second(finite(in.trials_per_second));
  for (const auto& [key, value] : in.by_status) (*out->mutable_by_status())[clean_line(key, kMaxName)] = value;
  out->set_best_config(clean_line(in.best_config, kMaxText));
  out->set_best_config_name(clean_line(in.best_config_name, kMaxText));
  if (in.model) model_to(*in.model, out->mutable_model());
}

}  // namespace detail

using namespace detail;

StatusOr<FleetStatus> from_wire(const proto::StatusReply& in) {
  FleetStatus out;
  HONE_RETURN_IF_ERROR(check_numbers("status", {in.uptime_s(), in.oldest_s(), in.now()}));
  HONE_RETURN_IF_ERROR(check_text("status.version", in.version(), kMaxName));
  for (const auto& [status, count] : in.results()) HONE_RETURN_IF_ERROR(check_text("status.results", status, kMaxName));
  out.version = in.version();
  out.uptime_s = in.uptime_s();
  for (const proto::DeviceStatus& device : in.devices()) {
    DeviceStatus one;
    HONE_RETURN_IF_ERROR(check_text("device.state", device.state(), kMaxName));
    HONE_RETURN_IF_ERROR(check_text("device.agent", device.agent(), kMaxName));
    HONE_RETURN_IF_ERROR(check_text("device.why", device.why(), kMaxText));
    HONE_RETURN_IF_ERROR(check_numbers("device", {device.sentinel_seconds(), device.connected_s(), device.utilization(),
                                                  device.jobs_per_minute(), device.lost_s()}));
    HONE_ASSIGN_OR_RETURN(one.info, device_from(device.info()));
    one.state = device.state();
    one.agent = device.agent();
    one.done = device.done();
    one.failed = device.failed();
    one.leased = device.leased();
    one.sentinel_seconds = device.sentinel_seconds();
    one.connected_s = device.connected_s();
    HONE_ASSIGN_OR_RETURN(one.health, health_from(device.health()));
    one.why = device.why();
    one.utilization = device.utilization();
    one.jobs_per_minute = device.jobs_per_minute();
    one.lost_s = device.lost_s();
    out.devices.push_back(std::move(one));
  }
  for (const proto::SessionStatus& session : in.sessions()) {
    SessionStatus one;
    if (!session.session().empty()) {
      HONE_ASSIGN_OR_RETURN(one.session, uuid_from("session", session.session()));
    }
    HONE_RETURN_IF_ERROR(check_text("session.id", session.id(), kMaxName));
    one.id = session.id();
    HONE_ASSIGN_OR_RETURN(one.summary, summary_from(session.summary()));
    HONE_ASSIGN_OR_RETURN(one.labels, names_from("session.labels", session.labels()));
    for (const std::string* text : {&session.title(), &session.device_key(), &session.target_kind(), &session.target(),
                                    &session.owner(), &session.host()})
      HONE_RETURN_IF_ERROR(check_text("session", *text, kMaxText));
    HONE_RETURN_IF_ERROR(
        check_numbers("session", {session.weight(), session.oldest_s(), session.device_seconds(), session.share()}));
    one.withheld = session.withheld();
    one.owner = session.owner();
    one.host = session.host();
    one.title = session.title();
    one.weight = session.weight();
    one.queued = session.queued();
    one.leased = session.leased();
    one.done = session.done();
    one.oldest_s = session.oldest_s();
    one.connected = session.connected();
    one.device_key = session.device_key();
    one.target_kind = session.target_kind();
    one.target = session.target();
    one.priority = session.priority();
    one.device_seconds = session.device_seconds();
    one.share = session.share();
    one.poisoned = session.poisoned();
    for (const proto::CurvePoint& point : session.curve()) {
      HONE_RETURN_IF_ERROR(check_numbers(
          "session.curve", {point.seconds(), point.best_gflops(), point.model_seconds(), point.model_share()}));
      one.curve.push_back(
          {point.seconds(), point.trials(), point.best_gflops(), point.model_seconds(), point.model_share()});
    }
    out.sessions.push_back(std::move(one));
  }
  out.results = {in.results().begin(), in.results().end()};
  out.queued = in.queued();
  out.leased = in.leased();
  out.oldest_s = in.oldest_s();
  out.now = in.now();
  return out;
}

void to_wire(const FleetStatus& in, proto::StatusReply* out) {
  out->set_version(in.version);
  out->set_uptime_s(in.uptime_s);
  for (const DeviceStatus& device : in.devices) {
    proto::DeviceStatus& one = *out->add_devices();
    device_to(device.info, one.mutable_info());
    one.set_state(device.state);
    one.set_agent(device.agent);
    one.set_done(device.done);
    one.set_failed(device.failed);
    one.set_leased(device.leased);
    one.set_sentinel_seconds(device.sentinel_seconds);
    one.set_connected_s(device.connected_s);
    one.set_why(clean_line(device.why, kMaxText));
    health_to(device.health, one.mutable_health());
    one.set_utilization(device.utilization);
    one.set_jobs_per_minute(device.jobs_per_minute);
    one.set_lost_s(device.lost_s);
  }
  for (const SessionStatus& session : in.sessions) {
    proto::SessionStatus& one = *out->add_sessions();
    one.set_id(session.id);
    one.set_withheld(session.withheld);
    if (!session.session.is_zero()) one.set_session(session.session.bytes());
    one.set_owner(clean_line(session.owner, kMaxName));
    one.set_host(clean_line(session.host, kMaxName));
    one.set_title(session.title);
    one.set_weight(session.weight);
    one.set_queued(session.queued);
    one.set_leased(session.leased);
    one.set_done(session.done);
    one.set_oldest_s(session.oldest_s);
    summary_to(session.summary, one.mutable_summary());
    one.set_connected(session.connected);
    one.set_device_key(session.device_key);
    one.set_target_kind(session.target_kind);
    one.set_target(session.target);
    for (const std::string& label : session.labels) one.add_labels(label);
    one.set_priority(session.priority);
    one.set_device_seconds(session.device_seconds);
    one.set_share(session.share);
    one.set_poisoned(session.poisoned);
    for (const CurvePoint& point : session.curve) {
      proto::CurvePoint& to = *one.add_curve();
      to.set_seconds(point.seconds);
      to.set_trials(point.trials);
      to.set_best_gflops(point.best_gflops);
      to.set_model_seconds(point.model_seconds);
      to.set_model_share(point.model_share);
    }
  }
  for (const auto& [status, count] : in.results) (*out->mutable_results())[status] = count;
  out->set_queued(in.queued);
  out->set_leased(in.leased);
  out->set_oldest_s(in.oldest_s);
  out->set_now(in.now);
}

}  // namespace hone::wire
