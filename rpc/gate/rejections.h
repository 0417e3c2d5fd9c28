// Peers that were turned away: counted by reason, and told in the log at most once a minute each, so that an attack
// fills no disk.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "rpc/gate/refusal.h"

namespace hone::gate {

/// Thread-safe. Remembers at most kMaxPeers addresses; all others share one log line a minute.
class Rejections {
 public:
  static constexpr size_t kMaxPeers = 1024;
  struct Line {
    std::string peer;
    Refusal reason;
    std::string what;
    uint64_t untold;  ///< further rejections of this peer since the last line about it
  };
  using Sink = std::function<void(const Line& line)>;

  /// `clock` outlives it. Without `sink` lines go to the log as warnings.
  explicit Rejections(const Clock& clock, Sink sink = nullptr);

  /// `peer` is what peer_name() calls it; `what` is one line without secrets.
  void note(const std::string& peer, Refusal reason, const std::string& what);

  /// How many there were, by the reason's name; every reason is there.
  std::map<std::string, uint64_t> counts() const;

 private:
  struct Peer {
    Clock::TimePoint told;
    uint64_t untold = 0;  // since then
  };
  void tell(Peer& peer, Line line, Clock::TimePoint now);

  const Clock& clock_;
  const Sink sink_;
  mutable std::mutex mutex_;  // guards the members below
  std::array<uint64_t, kRefusals> counts_{};
  std::map<std::string, Peer> peers_;
  Peer others_{};
  bool others_told_ = false;
};

}  // namespace hone::gate
