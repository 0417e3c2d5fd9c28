// Which devices serve which sessions, kept up to date so that no request has to search: sessions that ask for the same
// form a demand, devices that serve the same demands form a pool, and a pool knows which of its devices want leases.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "rpc/wire/messages/messages.h"

namespace hone::tracker {

struct Device;
struct Demand;
struct Pool;

/// Does the device serve the session? All that is given must hold: kind, target, key (a device, an agent or a label
/// k=v), labels.
bool matches(const wire::SessionOpen& session, const Device& device);

/// Orders devices that want leases: the fewest leases first, then the longest time since one was served.
struct HungryKey {
  uint32_t leased = 0;
  uint64_t turn = 0;
  Device* device = nullptr;

  bool operator<(const HungryKey& other) const { return std::tie(leased, turn) < std::tie(other.leased, other.turn); }
};

/// Where Matching has put a device. Kept in Device, used by Matching alone.
struct PlaceOfDevice {
  Pool* pool = nullptr;
  bool usable = false, hungry = false;  ///< as counted in the pool
  uint64_t turn = 0;                    ///< unique among devices; grows when the device is served
  HungryKey key;                        ///< under which it is in the pool's `hungry`
};

struct ById {
  template <class T>
  bool operator()(const T* a, const T* b) const {
    return a->id < b->id;
  }
};

/// The requirements of a group of sessions on a device.
struct Demand {
  uint32_t id = 0;         ///< also the sessions' group in the fair queue
  wire::SessionOpen spec;  ///< only the fields that matching looks at are set
  size_t sessions = 0;
  std::set<Pool*, ById> pools;   ///< that serve it
  std::set<Pool*, ById> hungry;  ///< of these, those with a device that wants leases
  // The tracker's notes.
  bool fresh = false;                        ///< jobs or devices have come: to be looked at by dispatch()
  std::map<std::string, std::string> shown;  ///< devices its sessions were told of, and their targets
  bool shown_changed = false;
};

/// Devices that serve the same demands.
struct Pool {
  uint32_t id = 0;
  std::vector<Demand*> demands;  ///< by id
  std::vector<uint32_t> groups;  ///< their ids
  std::set<Device*> devices;
  std::set<HungryKey> hungry;
  size_t usable = 0;  ///< devices that may get leases
};

/// Not thread-safe. A demand is compared with every device once, when it is new; a device with every demand when it is
/// added.
class Matching {
 public:
  using Devices = std::map<std::string, Device>;

  Matching() = default;
  Matching(const Matching&) = delete;
  Matching& operator=(const Matching&) = delete;

  /// The demand of `session`, to be closed once. `devices`: all that were added.
  Demand& open(const wire::SessionOpen& session, Devices& devices);
  /// The last close() of a demand ends it.
  void close(Demand& demand);

  /// The device's info, agent, credits and leases are set.
  void add(Device& device, bool usable);
  /// To be called before it is destroyed or the demands that it serves change.
  void remove(Device& device);
  /// Its credits, leases or usability have changed.
  void update(Device& device, bool usable);
  /// It was served: among equals it comes last now.
  void served(Device& device) { place_of(device).turn = next_turn_++; }

  const std::map<std::string, std::unique_ptr<Demand>>& demands() const { return demands_; }

 private:
  static PlaceOfDevice& place_of(Device& device);
  void put(Device& device, const std::vector<Demand*>& demands);
  void take_out(Device& device);

  std::map<std::string, std::unique_ptr<Demand>> demands_;  // by the text of the requirements
  std::map<std::vector<uint32_t>, std::unique_ptr<Pool>> pools_;
  uint32_t next_demand_ = 1, next_pool_ = 1;
  uint64_t next_turn_ = 1;
};

}  // namespace hone::tracker
