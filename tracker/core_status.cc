// What people are told, and what they may change.
#include <fmt/format.h>

#include <algorithm>

#include "base/log_fields.h"
#include "tracker/core.h"

namespace hone::tracker {
namespace {

constexpr size_t kMaxNamed = 32;        // devices in an error's text
constexpr size_t kCurveInStatus = 120;  // points

double seconds(Clock::Duration d) { return std::chrono::duration<double>(d).count(); }

template <class Ring, class Wall>
std::vector<NotedEvent> noted(const Ring& ring, Wall wall) {
  std::vector<NotedEvent> out;
  for (const Event& event : ring.events()) out.push_back({wall(event.at), event.what});
  return out;
}

}  // namespace

void TrackerCounts::Histogram::add(double seconds) {
  const auto bucket = std::lower_bound(kLatencyBounds.begin(), kLatencyBounds.end(), seconds);
  ++counts[static_cast<size_t>(bucket - kLatencyBounds.begin())];
  sum += seconds;
}

double Tracker::since_start(Clock::TimePoint then) const { return seconds(then - started_); }

double Tracker::wall(Clock::TimePoint then) const { return options_.started_unix_s + since_start(then); }

wire::DeviceStatus Tracker::status_of(const Device& device) const {
  const auto now = clock_.now();
  wire::DeviceStatus out;
  out.info = device.info;
  out.state = DeviceRegistry::state(device);
  out.why = ailment(device);
  out.agent = device.agent;
  out.done = device.done;
  out.failed = device.failed;
  out.leased = device.leased;
  out.sentinel_seconds = device.health.sentinel_seconds();
  out.health = device.readings;
  out.health.device = device.info.key;
  if (device.owner->connection) out.connected_s = seconds(now - device.owner->connected_at);
  const LastMinute::Rate rate = device.last_minute.rate(since_start(now), since_start(device.known_since));
  out.jobs_per_minute = rate.jobs_per_minute;
  out.utilization = rate.utilization;
  return out;
}

// Device seconds that all sessions used lately.
double Tracker::all_used() const {
  double all = 0;
  for (const auto& [uuid, session] : sessions_) all += queue_.used(uuid);
  return all;
}

wire::SessionStatus Tracker::status_of(const Session& session, double all_used, bool uuids) const {
  const wire::SessionOpen& spec = session.spec;
  wire::SessionStatus out;
  out.id = session.id;
  if (uuids) out.session = spec.session;
  out.title = spec.title;
  out.device_key = spec.device_key;
  out.target_kind = spec.target_kind;
  out.target = spec.target;
  out.labels = spec.labels;
  out.weight = spec.weight;
  out.priority = spec.priority;
  out.queued = queue_.size(spec.session) + session.waiting;
  out.leased = session.leased;
  out.done = session.done;
  out.poisoned = session.poisoned;
  out.connected = session.connection.has_value();
  out.device_seconds = session.device_seconds;
  if (all_used > 0) out.share = queue_.used(spec.session) / all_used;
  out.summary = session.summary;
  if (out.queued > 0)
    for (const auto& [seq, record] : session.jobs)
      if (record.state == JobState::kQueued || record.state == JobState::kWaiting)
        out.oldest_s = std::max(out.oldest_s, seconds(clock_.now() - record.submitted));
  return out;
}

wire::FleetStatus Tracker::status(bool uuids) const {
  wire::FleetStatus out;
  out.version = HONE_VERSION;
  out.uptime_s = since_start(clock_.now());
  out.now = wall(clock_.now());
  for (const auto& [key, device] : registry_.devices()) out.devices.push_back(status_of(device));
  const double used = all_used();
  for (const auto& [uuid, session] : sessions_) {
    wire::SessionStatus one = status_of(session, used, uuids);
    one.curve = session.curve.sampled(kCurveInStatus);
    out.queued += one.queued;
    out.leased += one.leased;
    out.oldest_s = std::max(out.oldest_s, one.oldest_s);
    out.sessions.push_back(std::move(one));
  }
  for (const wire::ResultStatus status : wire::kAllResultStatuses)
    out.results[std::string(wire::name(status))] = counts_.results[static_cast<size_t>(status)];
  return out;
}

std::optional<DeviceDetail> Tracker::device_detail(const std::string& key) const {
  const auto it = registry_.devices().find(key);
  if (it == registry_.devices().end()) return std::nullopt;
  const Device& device = it->second;
  DeviceDetail out;
  out.device = status_of(device);
  out.now = wall(clock_.now());
  const double width = out.bucket_s = device.history.width();
  const auto now = static_cast<uint32_t>(since_start(clock_.now()) / width);
  const auto& buckets = device.history.buckets();
  for (size_t i = 0; i < buckets.size(); ++i) {
    const DeviceHistory::Bucket& bucket = buckets[i];
    HistoryPoint point;
    point.t = options_.started_unix_s + bucket.index * width;
    point.done = bucket.done;
    point.failed = bucket.failed;
    point.busy_s = static_cast<double>(bucket.busy_s);
    point.sentinel_seconds = static_cast<double>(bucket.sentinel_seconds);
    if (bucket.temperature_c != DeviceHistory::kUnknown)
      point.temperature_c = static_cast<double>(bucket.temperature_c);
    if (bucket.clock_mhz != DeviceHistory::kUnknown) point.clock_mhz = static_cast<double>(bucket.clock_mhz);
    out.history.push_back(point);
    const uint32_t next = i + 1 < buckets.size() ? buckets[i + 1].index : now + 1;
    if (next <= bucket.index + 1) continue;
    HistoryPoint idle;  // from here to the next one nothing happened
    idle.t = point.t + width;
    out.history.push_back(idle);
  }
  out.events = noted(device.events, [this](Clock::TimePoint at) { return wall(at); });
  for (const wire::ResultStatus status : wire::kAllResultStatuses)
    if (const uint64_t count = device.by_status[static_cast<size_t>(status)])
      out.by_status[std::string(wire::name(status))] = count;
  out.phases = device.phases;
  return out;
}

// By its id, or by its uuid: whoever knows that may ask.
const Tracker::Session* Tracker::session_called(const std::string& id) const {
  const auto known = session_ids_.find(id);
  const auto uuid = known != session_ids_.end() ? std::optional(known->second) : wire::Uuid::parse(id);
  const auto session = uuid ? sessions_.find(*uuid) : sessions_.end();
  return session == sessions_.end() ? nullptr : &session->second;
}

std::optional<SessionDetail> Tracker::session_detail(const std::string& id, bool uuids) const {
  const Session* session = session_called(id);
  if (!session) return std::nullopt;
  return SessionDetail{status_of(*session, all_used(), uuids), session->curve.points(),
                       noted(session->events, [this](Clock::TimePoint at) { return wall(at); })};
}

TrackerCounts Tracker::counts() const {
  TrackerCounts out = counts_;
  out.blob_bytes = blobs_.bytes();
  out.blobs = blobs_.size();
  out.unfinished_leases = leases_.size();
  out.memory_used = memory_.used();
  out.memory_most = memory_.most();
  return out;
}

StatusOr<std::string> Tracker::admin(const std::string& action, const std::string& name) {
  if (action == "cancel") {
    auto line = cancel_session(name);
    dispatch();
    flush();
    return line;
  }
  Mark mark;
  if (action == "drain")
    mark = Mark::kDraining;
  else if (action == "quarantine")
    mark = Mark::kQuarantined;
  else if (action == "resume")
    mark = Mark::kNone;
  else
    return absl::InvalidArgumentError(
        fmt::format("unknown action '{}'; allowed: drain, resume, quarantine, cancel", action));
  const auto marked = registry_.mark(name, mark);
  if (marked.empty())
    return absl::NotFoundError(fmt::format("no device or agent is called '{}'; there are: {}", name, known_devices()));
  log::event(log::Level::info, "administered", {{"action", action}, {"name", name}, {"devices", marked.size()}});
  for (Device* device : marked) {
    quarantined_.erase(device->info.key);
    note(*device, action + " by hand");
    refresh(*device);
    show(*device);
    if (mark != Mark::kNone) ask_all_back(*device);
  }
  dispatch();
  notify_devices(/*all=*/true);
  flush();
  return fmt::format("{}: {} device{}", action, marked.size(), marked.size() == 1 ? "" : "s");
}

std::string Tracker::known_devices() const {
  std::string known;
  size_t count = 0;
  for (const auto& [key, device] : registry_.devices()) {
    if (++count > kMaxNamed) return fmt::format("{} and {} more", known, registry_.devices().size() - kMaxNamed);
    known += (known.empty() ? "" : ", ") + key;
  }
  return known.empty() ? "none" : known;
}

}  // namespace hone::tracker
