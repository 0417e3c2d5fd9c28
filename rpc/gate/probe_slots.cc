#include "rpc/gate/probe_slots.h"

#include <algorithm>

namespace hone::gate {

ProbeSlots::Slot ProbeSlots::enter(const std::string& peer, size_t most, size_t most_per_peer,
                                   std::function<void()> cut) {
  if (const auto own = peers_.find(peer); own != peers_.end() && own->second.size() >= most_per_peer) cut_oldest(peer);
  if (size_ >= most) {
    const auto earlier = [](const auto& a, const auto& b) { return a.second.front().slot > b.second.front().slot; };
    const auto greediest = std::max_element(peers_.begin(), peers_.end(), [&](const auto& a, const auto& b) {
      return a.second.size() != b.second.size() ? a.second.size() < b.second.size() : earlier(a, b);
    });
    cut_oldest(greediest->first);
  }
  const Slot slot = next_++;
  peers_[peer].push_back({slot, std::move(cut)});
  owner_.emplace(slot, peer);
  ++size_;
  return slot;
}

void ProbeSlots::cut_oldest(const std::string& peer) {
  const Held oldest = peers_.at(peer).front();
  leave(oldest.slot);
  oldest.cut();
}

void ProbeSlots::leave(Slot slot) {
  const auto owner = owner_.find(slot);
  if (owner == owner_.end()) return;
  const auto held = peers_.find(owner->second);
  held->second.remove_if([&](const Held& one) { return one.slot == slot; });
  if (held->second.empty()) peers_.erase(held);
  owner_.erase(owner);
  --size_;
}

}  // namespace hone::gate
