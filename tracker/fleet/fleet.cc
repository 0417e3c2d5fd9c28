#include "tracker/fleet/fleet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rpc/wire/access/signature.h"

namespace hone::tracker {
namespace {

constexpr std::chrono::seconds kBusyStep{1};  // of histories
constexpr size_t kMaxNamed = 32;              // in an error's text

std::string listed(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  const auto more = names.begin() + static_cast<ptrdiff_t>(std::min(names.size(), kMaxNamed));
  return fmt::format("{}{}", fmt::join(names.begin(), more, ", "),
                     more == names.end() ? "" : fmt::format(" and {} more", names.end() - more));
}

void add(wire::PhaseTimes& sum, const wire::PhaseTimes& p) {
  sum.queue += p.queue, sum.transfer += p.transfer, sum.build += p.build, sum.check += p.check;
  sum.run += p.run, sum.reference += p.reference, sum.idle += p.idle;
}

}  // namespace

Fleet::Fleet(const TrackerOptions& options, const Clock& clock, TrackerCounts& counts)
    : options_(options),
      clock_(clock),
      started_(clock.now()),
      registry_(clock),
      quarantine_(options.health, clock, registry_, shown_, counts),
      kept_(options.quarantined) {}

double Fleet::since_start(Clock::TimePoint then) const {
  return std::chrono::duration<double>(then - started_).count();
}

void Fleet::note(Device& device, std::string event) { device.events.add(clock_.now(), std::move(event)); }

// --- agents

std::optional<wire::Refused> Fleet::objection(const wire::AgentHello& hello) const {
  const auto old = registry_.agents().find(hello.name);
  const bool is_new = old == registry_.agents().end();
  if (is_new && registry_.agents().size() >= options_.max_agents)
    return wire::Refused{fmt::format("the tracker has {} agents and accepts no more", options_.max_agents), true};
  const size_t others = registry_.devices().size() - (is_new ? 0 : old->second.devices.size());
  if (others + hello.devices.size() > options_.max_devices)
    return wire::Refused{fmt::format("the tracker has {} devices and accepts at most {}", others, options_.max_devices),
                         true};
  return std::nullopt;
}

// The device is about to be forgotten, or to be added again.
void Fleet::take_out(Device& device) {
  matching_.remove(device);
  busy_.erase(device.info.key);
  quarantine_.unwatch(device.info.key);
}

// As take_out(), reversed.
void Fleet::put_in(Device& device) {
  matching_.add(device, DeviceRegistry::usable(device));
  if (device.leased > 0) busy_[device.info.key] = &device;
  quarantine_.watch(device);
}

bool Fleet::connect(wire::AgentHello hello, ConnectionId connection, MemoryBudget::Charge charge) {
  const Agent* old = registry_.agent(hello.name);
  const bool restarted = old && old->instance != hello.instance;
  std::map<std::string, KeyClaim> claims;
  bool open_claims = false;
  for (wire::DeviceInfo& info : hello.devices) {
    KeyClaim claim = take_claim(info);
    const Device* known = restarted ? nullptr : registry_.device(info.key);
    if (known && known->claim.proved && known->claim.fingerprint == claim.fingerprint) prove_claim(claim, info);
    open_claims |= claim.open();
    claims[info.key] = std::move(claim);
  }
  std::set<std::string> drained;
  for (const std::string& key : hello.drained)
    if (!registry_.device(key)) drained.insert(key);
  if (old) {
    for (const std::string& key : old->devices) {
      Device& device = *registry_.device(key);
      const auto stays = std::find_if(hello.devices.begin(), hello.devices.end(),
                                      [&](const wire::DeviceInfo& info) { return info.key == key; });
      if (stays == hello.devices.end() || *stays != device.info) shown_.hide(device);
      take_out(device);
    }
  }
  Agent& agent = registry_.connect(hello.name, hello.instance, connection, hello.devices);
  agent.charge = std::move(charge);
  agent.challenge = open_claims ? wire::random_bytes(wire::kNonceBytes) : "";
  for (const std::string& key : agent.devices) {
    Device& device = *registry_.device(key);
    device.claim = claims.at(key);
    note(device, restarted ? "a new agent process connected" : "the agent connected");
    if (kept_.holds(key))
      mark_again(device, Mark::kQuarantined);
    else if (drained.contains(key))
      mark_again(device, Mark::kDraining);
    put_in(device);
    shown_.update(device);
  }
  return restarted;
}

// As people marked it before this tracker, or this registration, knew it.
void Fleet::mark_again(Device& device, Mark mark) {
  if (device.mark == mark && !device.mark_is_ours) return;
  registry_.mark(device.info.key, mark);
  note(device, mark == Mark::kQuarantined ? "still quarantined by hand" : "still drained by hand");
}

void Fleet::key_proved(Device& device) {
  shown_.hide(device);
  take_out(device);
  prove_claim(device.claim, device.info);
  put_in(device);
  note(device, "it has proved its builder's key");
  shown_.update(device);
}

void Fleet::disconnect(Agent& agent) {
  registry_.disconnect(agent);
  for (const std::string& key : agent.devices) note(*registry_.device(key), "the agent disconnected");
}

void Fleet::forget_lost() {
  const auto now = clock_.now();
  for (Agent* agent : registry_.lost_before(now - options_.agent_grace)) {
    const bool forget = agent->lost_at <= now - options_.forget_lost;
    const bool was_absent = std::exchange(agent->absent, true);
    if (was_absent && !forget) continue;
    for (const std::string& key : agent->devices) {
      Device& device = *registry_.device(key);
      if (!was_absent) shown_.update(device);
      if (forget) take_out(device);
    }
    if (forget) registry_.forget(*agent);
  }
}

StatusOr<std::vector<Device*>> Fleet::mark_by_hand(const std::string& name, Mark mark, std::string_view action) {
  const Device* device = registry_.device(name);
  const Agent* agent = device ? device->owner : registry_.agent(name);
  if (!agent && !(mark == Mark::kNone && kept_.names(name))) return absl::NotFoundError(unknown_name(name));
  // First: a mark that cannot be kept is not set.
  HONE_RETURN_IF_ERROR(mark == Mark::kQuarantined ? kept_.begin(name)
                                                  : kept_.end(name, agent ? agent->devices : std::set<std::string>()));
  auto marked = registry_.mark(name, mark);
  for (Device* device : marked) {
    quarantine_.unwatch(device->info.key);
    note(*device, fmt::format("{} by hand", action));
    shown_.update(*device);
  }
  return marked;
}

std::string Fleet::unknown_name(const std::string& name) const {
  std::vector<std::string> known, absent;
  for (const auto& [key, device] : registry_.devices()) known.push_back(key);
  for (const std::string& one : kept_.names())
    if (!registry_.devices().contains(one) && !registry_.agents().contains(one)) absent.push_back(one);
  return fmt::format("no device or agent is called '{}'; there are: {}{}", name, listed(known),
                     absent.empty() ? "" : "; quarantined, but not connected: " + listed(absent));
}

std::vector<std::string> Fleet::drained(const Agent& agent) const {
  std::vector<std::string> out;
  for (const std::string& key : agent.devices)
    if (registry_.devices().at(key).mark == Mark::kDraining) out.push_back(key);
  return out;
}

// --- which device serves whom

Demand& Fleet::open_demand(const wire::SessionOpen& spec) {
  Demand& demand = matching_.open(spec, registry_.devices());
  if (demand.sessions == 1) ShownDevices::fill(demand);
  return demand;
}

void Fleet::close_demand(Demand& demand) {
  if (demand.sessions == 1) shown_.forget(demand);
  matching_.close(demand);
}

const Pool* Fleet::update(Device& device) {
  const Pool& pool = *device.place.pool;
  const bool was_usable = pool.usable > 0;
  matching_.update(device, DeviceRegistry::usable(device));
  return was_usable && pool.usable == 0 ? &pool : nullptr;
}

// --- the work of a device

void Fleet::served(Device& device) {
  --device.credits;
  matching_.served(device);
}

void Fleet::lease_added(Device& device) {
  if (device.leased++ > 0) return;
  device.progress = device.busy_counted = clock_.now();
  busy_[device.info.key] = &device;
}

void Fleet::lease_removed(Device& device) {
  if (device.leased == 0) return;
  if (device.leased == 1) count_busy(device), busy_.erase(device.info.key);
  --device.leased;
}

void Fleet::note_answer(Device& device, const wire::JobResult& result, double seconds) {
  const auto now = clock_.now();
  const wire::ResultStatus status = result.candidates.front().status;
  device.progress = now;
  device.mean_seconds += 0.2 * (seconds - device.mean_seconds);
  ++device.done;
  if (status != wire::ResultStatus::kOk) ++device.failed;
  ++device.by_status[static_cast<size_t>(status)];
  add(device.phases, result.phases);
  device.history.answered(since_start(now), status == wire::ResultStatus::kOk, result.sentinel_after);
  device.last_minute.add(since_start(now), 1, 0);
  if (result.sentinel_after > 0 && device.health.sentinel(result.sentinel_after))
    note(device, device.health.slow() ? ailment(device, now, options_.health) : "as fast as before again");
}

void Fleet::take_readings(Device& device, wire::DeviceHealth readings) {
  if (readings.throttled != device.readings.throttled)
    note(device, readings.throttled.empty() ? "no longer throttled" : "throttled: " + readings.throttled);
  device.history.readings(since_start(clock_.now()), readings);
  device.readings = std::move(readings);
}

void Fleet::count_busy() {
  const auto now = clock_.now();
  for (const auto& [key, device] : busy_)
    if (now - device->busy_counted >= kBusyStep) count_busy(*device);
}

// The time since the last call belongs to its history.
void Fleet::count_busy(Device& device) {
  const auto now = clock_.now();
  const double seconds = std::chrono::duration<double>(now - device.busy_counted).count();
  device.busy_counted = now;
  device.history.busy(since_start(now), seconds);
  device.last_minute.add(since_start(now), 0, seconds);
}

}  // namespace hone::tracker
