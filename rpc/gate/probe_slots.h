// Slots reserved for probes of /healthz when all connections are taken. A new connection gets a slot at once. If all
// are taken, it replaces the oldest connection of the address that has most of them: a probe asks as soon as it is
// connected, so it has been answered by then.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>

namespace hone::gate {

/// Not thread-safe. Knows nothing of sockets.
class ProbeSlots {
 public:
  using Slot = uint64_t;

  /// A slot for a connection from `peer`, of `most` in all and `most_per_peer` from one address (both at least one).
  /// The connection that loses its slot gets a call of its own `cut`, which must not call this object.
  Slot enter(const std::string& peer, size_t most, size_t most_per_peer, std::function<void()> cut);
  /// Nothing to do where it had to leave already.
  void leave(Slot slot);
  size_t size() const { return size_; }

 private:
  struct Held {
    Slot slot;
    std::function<void()> cut;
  };
  void cut_oldest(const std::string& peer);

  std::map<std::string, std::list<Held>> peers_;  // oldest first
  std::map<Slot, std::string> owner_;
  size_t size_ = 0;
  Slot next_ = 1;
};

}  // namespace hone::gate
