#include "tracker/fleet/shown_devices.h"

#include <utility>

#include "tracker/jobs/job_book.h"
#include "tracker/state/outgoing.h"

namespace hone::tracker {
namespace {

constexpr size_t kMaxShown = 1024;   // devices a session is told of
constexpr size_t kShownAtOnce = 32;  // up to this many, a change is told at once; otherwise with the next tick

// May sessions count on it?
bool present(const Device& device) {
  return (device.mark == Mark::kNone || device.mark == Mark::kProbation) && !device.owner->absent;
}

}  // namespace

void ShownDevices::changed(Demand& demand) {
  if (!std::exchange(demand.shown_changed, true)) changed_.push_back(&demand);
}

void ShownDevices::update(const Device& device) {
  if (!present(device)) return hide(device);
  for (Demand* demand : device.place.pool->demands) {
    const auto shown = demand->shown.find(device.info.key);
    if (shown == demand->shown.end() ? demand->shown.size() >= kMaxShown : shown->second == device.info.target)
      continue;
    demand->shown[device.info.key] = device.info.target;
    changed(*demand);
  }
}

void ShownDevices::hide(const Device& device) {
  for (Demand* demand : device.place.pool->demands)
    if (demand->shown.erase(device.info.key) > 0) changed(*demand);
}

void ShownDevices::fill(Demand& demand) {
  for (const Pool* pool : demand.pools) {
    for (const Device* device : pool->devices) {
      if (demand.shown.size() >= kMaxShown) return;
      if (present(*device)) demand.shown[device->info.key] = device->info.target;
    }
  }
}

void ShownDevices::forget(const Demand& demand) { std::erase(changed_, &demand); }

std::vector<wire::DeviceInfo> ShownDevices::listed(const Demand& demand, const DeviceRegistry& registry) {
  std::vector<wire::DeviceInfo> out;
  for (const auto& [key, target] : demand.shown) out.push_back(registry.devices().at(key).info);
  return out;
}

void ShownDevices::tell(const DeviceRegistry& registry, const JobBook& book, Outgoing& out, bool all) {
  std::vector<Demand*> later;
  for (Demand* demand : std::exchange(changed_, {})) {
    if (!all && demand->shown.size() > kShownAtOnce) {
      later.push_back(demand);
      continue;
    }
    demand->shown_changed = false;
    if (demand->shown.size() < kMaxShown) fill(*demand);  // there may be room again
    const auto devices = listed(*demand, registry);
    for (const auto& [uuid, session] : book.sessions())
      if (session.demand == demand && session.connection) out.to_session(*session.connection, wire::Devices{devices});
  }
  changed_ = std::move(later);
}

}  // namespace hone::tracker
