#include "rpc/gate/connection_gate.h"

#include <algorithm>

namespace hone::gate {

std::optional<Refusal> ConnectionGate::over(const std::string& peer) const {
  const auto known = peers_.find(peer);
  if (known != peers_.end() && known->second.size() >= limits_.per_peer) return Refusal::kPeerConnections;
  if (total_ >= limits_.connections) return Refusal::kConnections;
  return std::nullopt;
}

std::optional<Refusal> ConnectionGate::judge(const std::string& peer) {
  const auto now = clock_.now();
  const bool full = over(peer).has_value();
  if (!swept_ || now - *swept_ >= kSweepPeriod || (full && now - *swept_ >= kSweepPause)) sweep(now);
  return over(peer);
}

void ConnectionGate::add(const std::string& peer, Socket socket) {
  peers_[peer].push_back(socket);
  ++total_;
}

void ConnectionGate::sweep(Clock::TimePoint now) {
  swept_ = now;
  size_t left = 0;
  for (auto it = peers_.begin(); it != peers_.end();) {
    std::erase_if(it->second, [&](const Socket& socket) { return !is_open_(socket); });
    left += it->second.size();
    it = it->second.empty() ? peers_.erase(it) : std::next(it);
  }
  total_ = left;
}

}  // namespace hone::gate
