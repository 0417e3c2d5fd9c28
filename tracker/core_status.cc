// What people are told, and what they may change.
#include <fmt/format.h>

#include <algorithm>

#include "tracker/core.h"

namespace hone::tracker {
namespace {

constexpr size_t kMaxNamed = 32;  // devices in an error's text

}  // namespace

wire::FleetStatus Tracker::status() const {
  const auto since = [&](Clock::TimePoint then) { return std::chrono::duration<double>(clock_.now() - then).count(); };
  wire::FleetStatus out;
  out.version = HONE_VERSION;
  out.uptime_s = since(started_);
  for (const auto& [key, device] : registry_.devices()) {
    const Agent& agent = registry_.agents().at(device.agent);
    out.devices.push_back({device.info, DeviceRegistry::state(device), device.agent, device.done, device.failed, device.leased, device.sentinel_seconds,
                           agent.connection ? since(agent.connected_at) : 0});
  }
  for (const auto& [uuid, session] : sessions_) {
    wire::SessionStatus one;
    one.session = uuid;
    one.title = session.spec.title;
    one.weight = session.spec.weight;
    one.queued = queue_.size(uuid);
    one.leased = session.leased;
    one.done = session.done;
    one.summary = session.summary;
    one.connected = session.connection.has_value();
    for (const auto& [seq, record] : session.jobs)
      if (record.state == JobState::kQueued) one.oldest_s = std::max(one.oldest_s, since(record.submitted));
    out.sessions.push_back(std::move(one));
  }
  for (const wire::ResultStatus status : wire::kAllResultStatuses)
    out.results[std::string(wire::name(status))] = counts_.results[static_cast<size_t>(status)];
  return out;
}

TrackerCounts Tracker::counts() const {
  TrackerCounts out = counts_;
  out.blob_bytes = blobs_.bytes();
  out.blobs = blobs_.size();
  out.unfinished_leases = leases_.size();
  return out;
}

StatusOr<std::string> Tracker::admin(const std::string& action, const std::string& name) {
  Mark mark;
  if (action == "drain") mark = Mark::kDraining;
  else if (action == "quarantine") mark = Mark::kQuarantined;
  else if (action == "resume") mark = Mark::kNone;
  else return absl::InvalidArgumentError(fmt::format("unknown action '{}'; allowed: drain, resume, quarantine", action));
  const auto marked = registry_.mark(name, mark);
  if (marked.empty()) return absl::NotFoundError(fmt::format("no device or agent is called '{}'; there are: {}", name, known_devices()));
  for (Device* device : marked) {
    refresh(*device);
    show(*device);
    if (mark == Mark::kNone) continue;
    // What has not been started goes to others.
    wire::TakeBack back;
    for (const HeldLease* lease : leases_.of_device(device->info.key)) back.leases.push_back(lease->id);
    if (!back.leases.empty() && device->owner->connection) outbox_.to_agent(*device->owner->connection, std::move(back));
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
