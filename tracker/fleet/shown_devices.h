// Tells sessions which devices serve them, whenever that changes.
#pragma once

#include <vector>

#include "tracker/fleet/device_registry.h"

namespace hone::tracker {

class JobBook;
class Outgoing;

/// Not thread-safe. A demand's list is part of the Demand; this class knows which lists have changed. A list has a
/// bound: a session with many devices gets as many as fit.
class ShownDevices {
 public:
  /// The device's presence or target may have changed: it comes into the lists of its demands, or leaves them.
  void update(const Device& device);
  /// Sessions cannot count on the device any more: also before it is forgotten, or serves other demands.
  void hide(const Device& device);
  /// Fills the list of a demand with its devices.
  static void fill(Demand& demand);
  /// The demand is about to end.
  void forget(const Demand& demand);
  /// Tells the connected sessions whose lists have changed: with `all` every one, else those with short lists.
  void tell(const DeviceRegistry& registry, const JobBook& book, Outgoing& out, bool all);
  /// The devices of a demand's list.
  static std::vector<wire::DeviceInfo> listed(const Demand& demand, const DeviceRegistry& registry);

 private:
  void changed(Demand& demand);

  std::vector<Demand*> changed_;
};

}  // namespace hone::tracker
