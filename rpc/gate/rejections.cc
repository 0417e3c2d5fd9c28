#include "rpc/gate/rejections.h"

#include <algorithm>

#include "base/log_fields.h"

namespace hone::gate {
namespace {

constexpr auto kQuiet = std::chrono::minutes(1);

void write_line(const Rejections::Line& line) {
  log::event(log::Level::warn, "rejected a peer",
             {{"peer", line.peer}, {"reason", name(line.reason)}, {"why", line.what}, {"suppressed", line.untold}});
}

}  // namespace

Rejections::Rejections(const Clock& clock, Sink sink) : clock_(clock), sink_(sink ? std::move(sink) : &write_line) {}

void Rejections::tell(Peer& peer, Line line, Clock::TimePoint now) {
  line.untold = peer.untold;
  sink_(line);
  peer = {now, 0};
}

void Rejections::note(const std::string& peer, Refusal reason, const std::string& what) {
  const auto now = clock_.now();
  const Line line{peer, reason, what, 0};
  std::lock_guard lock(mutex_);
  ++counts_[static_cast<size_t>(reason)];
  if (const auto known = peers_.find(peer); known != peers_.end()) {
    if (now - known->second.told >= kQuiet) return tell(known->second, line, now);
    ++known->second.untold;
    return;
  }
  if (peers_.size() >= kMaxPeers)
    std::erase_if(peers_, [&](const auto& entry) { return now - entry.second.told >= kQuiet; });
  if (peers_.size() < kMaxPeers) return tell(peers_[peer], line, now);
  if (!others_told_ || now - others_.told >= kQuiet) {
    others_told_ = true;
    return tell(others_, line, now);
  }
  ++others_.untold;
}

std::map<std::string, uint64_t> Rejections::counts() const {
  std::lock_guard lock(mutex_);
  std::map<std::string, uint64_t> out;
  for (size_t i = 0; i < kRefusals; ++i) out[std::string(name(static_cast<Refusal>(i)))] = counts_[i];
  return out;
}

}  // namespace hone::gate
