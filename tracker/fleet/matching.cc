#include "tracker/fleet/matching.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/key.h"
#include "tracker/fleet/device_registry.h"

namespace hone::tracker {
namespace {

bool has_label(const Device& device, const std::string& pair) {
  const size_t equals = pair.find('=');
  if (equals == std::string::npos) return false;
  const auto label = device.info.labels.find(pair.substr(0, equals));
  return label != device.info.labels.end() && label->second == pair.substr(equals + 1);
}

// The same for sessions that ask for the same. The wire's text has no control characters, so nothing can look like
// another's.
std::string text_of(const wire::SessionOpen& spec) {
  return fmt::format("{}\n{}\n{}\n{}", spec.target_kind, spec.target, spec.device_key, fmt::join(spec.labels, "\n"));
}

}  // namespace

bool matches(const wire::SessionOpen& session, const Device& device) {
  if (!session.target_kind.empty() && hone::target_kind(device.info.target) != session.target_kind) return false;
  if (!session.target.empty() && device.info.target != session.target) return false;
  const std::string& key = session.device_key;
  if (!key.empty() && key != device.info.key && key != device.agent && !has_label(device, key)) return false;
  return std::all_of(session.labels.begin(), session.labels.end(),
                     [&](const std::string& label) { return has_label(device, label); });
}

PlaceOfDevice& Matching::place_of(Device& device) { return device.place; }

Demand& Matching::open(const wire::SessionOpen& session, Devices& devices) {
  wire::SessionOpen spec;
  spec.target_kind = session.target_kind;
  spec.target = session.target;
  spec.device_key = session.device_key;
  spec.labels = session.labels;
  std::sort(spec.labels.begin(), spec.labels.end());
  spec.labels.erase(std::unique(spec.labels.begin(), spec.labels.end()), spec.labels.end());
  std::unique_ptr<Demand>& entry = demands_[text_of(spec)];
  if (entry) {
    ++entry->sessions;
    return *entry;
  }
  entry = std::make_unique<Demand>();
  Demand& demand = *entry;
  demand.id = next_demand_++;
  demand.sessions = 1;
  demand.spec = std::move(spec);
  for (auto& [key, device] : devices) {
    if (!device.place.pool || !matches(demand.spec, device)) continue;
    std::vector<Demand*> all = device.place.pool->demands;
    all.push_back(&demand);  // ids grow: still in order
    take_out(device);
    put(device, all);
  }
  return demand;
}

void Matching::close(Demand& demand) {
  if (--demand.sessions > 0) return;
  const std::set<Pool*, ById> pools = demand.pools;
  for (Pool* pool : pools) {
    std::vector<Demand*> rest = pool->demands;
    std::erase(rest, &demand);
    const std::set<Device*> devices = pool->devices;
    for (Device* device : devices) {
      take_out(*device);
      put(*device, rest);
    }
  }
  demands_.erase(text_of(demand.spec));
}

void Matching::add(Device& device, bool usable) {
  std::vector<Demand*> serves;
  for (const auto& [text, demand] : demands_)
    if (matches(demand->spec, device)) serves.push_back(demand.get());
  std::sort(serves.begin(), serves.end(), ById());
  if (device.place.turn == 0) device.place.turn = next_turn_++;
  put(device, serves);
  update(device, usable);
}

void Matching::remove(Device& device) {
  if (device.place.pool) take_out(device);
  device.place.usable = false;
}

// Its place follows from the way in which it was counted before.
void Matching::put(Device& device, const std::vector<Demand*>& demands) {
  std::vector<uint32_t> groups;
  for (const Demand* demand : demands) groups.push_back(demand->id);
  std::unique_ptr<Pool>& entry = pools_[groups];
  if (!entry) {
    entry = std::make_unique<Pool>();
    entry->id = next_pool_++;
    entry->demands = demands;
    entry->groups = groups;
    for (Demand* demand : demands) demand->pools.insert(entry.get());
  }
  Pool& pool = *entry;
  pool.devices.insert(&device);
  device.place.pool = &pool;
  if (device.place.usable) ++pool.usable;
  update(device, device.place.usable);
}

// `place.usable` stays, for put().
void Matching::take_out(Device& device) {
  const bool usable = device.place.usable;
  update(device, false);
  device.place.usable = usable;
  Pool& pool = *device.place.pool;
  pool.devices.erase(&device);
  device.place.pool = nullptr;
  if (!pool.devices.empty()) return;
  for (Demand* demand : pool.demands) demand->pools.erase(&pool);
  pools_.erase(std::vector<uint32_t>(pool.groups));
}

void Matching::update(Device& device, bool usable) {
  PlaceOfDevice& place = device.place;
  Pool& pool = *place.pool;
  if (usable != place.usable) {
    place.usable = usable;
    usable ? ++pool.usable : --pool.usable;
  }
  const bool hungry = usable && device.wants_lease();
  const HungryKey key{device.leased, place.turn, &device};
  if (place.hungry && hungry && !(key < place.key) && !(place.key < key)) return;
  const bool was_empty = pool.hungry.empty();
  if (place.hungry) {
    auto node = pool.hungry.extract(place.key);
    if (hungry) {
      node.value() = key;
      pool.hungry.insert(std::move(node));
    }
  } else if (hungry) {
    pool.hungry.insert(key);
  }
  place.key = key;
  place.hungry = hungry;
  if (was_empty == pool.hungry.empty()) return;
  for (Demand* demand : pool.demands)
    was_empty ? (void)demand->hungry.insert(&pool) : (void)demand->hungry.erase(&pool);
}

}  // namespace hone::tracker
