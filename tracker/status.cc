#include "tracker/status.h"

#include <algorithm>

namespace hone::tracker {
namespace {

constexpr size_t kCurveInStatus = 120;  // points

// Fills in a session's owner, its work and its progress, which are for its own tenant.
void tell_work(const Session& session, wire::SessionStatus& out) {
  const wire::SessionOpen& spec = session.spec;
  out.owner = session.tenant;
  out.host = session.host;
  out.title = spec.title;
  out.device_key = spec.device_key;
  out.target = spec.target;
  out.labels = spec.labels;
  out.summary = session.summary;
}

double in_seconds(Clock::Duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

// Seconds since 1970.
double StatusReader::wall(Clock::TimePoint then) const { return options_.started_unix_s + fleet_.since_start(then); }

std::vector<NotedEvent> StatusReader::noted(const EventRing& ring) const {
  std::vector<NotedEvent> out;
  for (const Event& event : ring.events()) out.push_back({wall(event.at), event.what});
  return out;
}

// --- devices

wire::DeviceStatus StatusReader::status_of(const Device& device) const {
  wire::DeviceStatus out;
  out.info = device.info;
  out.state = DeviceRegistry::state(device);
  out.why = ailment(device, now_, options_.health);
  out.agent = device.agent;
  out.done = device.done;
  out.failed = device.failed;
  out.leased = device.leased;
  out.sentinel_seconds = device.health.sentinel_seconds();
  out.health = device.readings;
  out.health.device = device.info.key;
  if (device.owner->connection)
    out.connected_s = in_seconds(now_ - device.owner->connected_at);
  else
    out.lost_s = in_seconds(now_ - device.owner->lost_at);
  const LastMinute::Rate rate =
      device.last_minute.rate(fleet_.since_start(now_), fleet_.since_start(device.known_since));
  out.jobs_per_minute = rate.jobs_per_minute;
  out.utilization = rate.utilization;
  return out;
}

std::vector<HistoryPoint> StatusReader::history_of(const Device& device) const {
  std::vector<HistoryPoint> out;
  const double width = device.history.width();
  const auto now = static_cast<uint32_t>(fleet_.since_start(now_) / width);
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
    out.push_back(point);
    const uint32_t next = i + 1 < buckets.size() ? buckets[i + 1].index : now + 1;
    if (next <= bucket.index + 1) continue;
    HistoryPoint idle;  // from here to the next one nothing happened
    idle.t = point.t + width;
    out.push_back(idle);
  }
  return out;
}

std::optional<DeviceDetail> StatusReader::device_detail(const std::string& key) const {
  const auto& devices = fleet_.registry().devices();
  const auto it = devices.find(key);
  if (it == devices.end()) return std::nullopt;
  const Device& device = it->second;
  DeviceDetail out;
  out.device = status_of(device);
  out.now = wall(now_);
  out.bucket_s = device.history.width();
  out.history = history_of(device);
  out.events = noted(device.events);
  for (const wire::ResultStatus status : wire::kAllResultStatuses)
    if (const uint64_t count = device.by_status[static_cast<size_t>(status)])
      out.by_status[std::string(wire::name(status))] = count;
  out.phases = device.phases;
  return out;
}

// --- sessions

// Device seconds that all sessions used lately.
double StatusReader::all_used() const {
  double all = 0;
  for (const auto& [uuid, session] : book_.sessions()) all += queue_.fair().used(uuid);
  return all;
}

wire::SessionStatus StatusReader::status_of(const Session& session, double all_used, const gate::Viewer& viewer) const {
  const wire::SessionOpen& spec = session.spec;
  wire::SessionStatus out;
  out.id = session.id;
  if (viewer.admin) out.session = spec.session;
  out.withheld = !viewer.sees(session.tenant);
  if (!out.withheld) tell_work(session, out);
  out.target_kind = spec.target_kind;
  out.weight = spec.weight;
  out.priority = spec.priority;
  out.queued = queue_.fair().size(spec.session) + session.waiting;
  out.leased = session.leased;
  out.done = session.done;
  out.poisoned = session.poisoned;
  out.connected = session.connection.has_value();
  out.device_seconds = session.device_seconds;
  if (all_used > 0) out.share = queue_.fair().used(spec.session) / all_used;
  if (out.queued > 0)
    for (const auto& [seq, record] : session.jobs)
      if (record.state == JobState::kQueued || record.state == JobState::kWaiting)
        out.oldest_s = std::max(out.oldest_s, in_seconds(now_ - record.submitted));
  return out;
}

std::optional<SessionDetail> StatusReader::session_detail(const std::string& id, const gate::Viewer& viewer) const {
  const Session* session = book_.called(id);
  if (!session) return std::nullopt;
  SessionDetail out{status_of(*session, all_used(), viewer), {}, {}};
  if (!out.session.withheld) out.curve = session->curve.points(), out.events = noted(session->events);
  return out;
}

// --- all

wire::FleetStatus StatusReader::status(const gate::Viewer& viewer) const {
  wire::FleetStatus out;
  out.version = HONE_VERSION;
  out.uptime_s = fleet_.since_start(now_);
  out.now = wall(now_);
  for (const auto& [key, device] : fleet_.registry().devices()) out.devices.push_back(status_of(device));
  const double used = all_used();
  for (const auto& [uuid, session] : book_.sessions()) {
    wire::SessionStatus one = status_of(session, used, viewer);
    if (!one.withheld) one.curve = session.curve.sampled(kCurveInStatus);
    // Those who want to see a model's layers ask for the session itself.
    if (one.summary.model) one.summary.model->slowest.clear();
    out.queued += one.queued;
    out.leased += one.leased;
    out.oldest_s = std::max(out.oldest_s, one.oldest_s);
    out.sessions.push_back(std::move(one));
  }
  for (const wire::ResultStatus status : wire::kAllResultStatuses)
    out.results[std::string(wire::name(status))] = counts_.results[static_cast<size_t>(status)];
  return out;
}

}  // namespace hone::tracker
