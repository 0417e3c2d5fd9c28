// A tracker with one good agent and one good session beside the attacker. For any input from the attacker, each of the
// session's jobs must end with exactly one result, and the tracker's bounds must hold.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/fakes/fake_clock.h"
#include "tracker/core.h"

namespace hone::fuzz {

inline constexpr std::string_view kGood = "good", kEvil = "evil";
inline constexpr uint64_t kGoodJobs = 12;

/// Ids that are the same in every run, so that inputs can name them.
wire::Uuid fixed_uuid(uint8_t which);
inline wire::Uuid good_session() { return fixed_uuid(1); }
inline wire::Uuid evil_session() { return fixed_uuid(2); }
wire::DeviceInfo device_of(std::string_view agent);
/// Every name and id that occurs, for the mutator.
std::vector<std::string> known_words();

class World final : tracker::Outbox {
 public:
  World();

  tracker::ConnectionId new_connection() { return next_connection_++; }
  class tracker::Tracker& tracker() {
    return tracker_;
  }
  /// Messages from the tracker to an attacker's connection since the last call. Only a bounded number is kept.
  std::vector<wire::ToAgent> take_agent(tracker::ConnectionId connection);
  std::vector<wire::ToSession> take_session(tracker::ConnectionId connection);
  void pass(std::chrono::milliseconds time);
  /// The good agent answers its leases, the good session acknowledges its results; both reconnect when they were
  /// refused.
  void others_work();
  void check_bounds() const;
  /// The attacker is gone: all of the good session's jobs end.
  void finish();

 private:
  struct GoodAgent {
    std::optional<tracker::ConnectionId> connection;
    std::map<wire::LeaseId, wire::Lease> held;
    std::map<wire::LeaseId, wire::JobResult> results;
  };
  struct GoodSession {
    std::optional<tracker::ConnectionId> connection;
    std::set<uint64_t> outstanding, done;
  };

  void to_agent(tracker::ConnectionId connection, wire::ToAgent message) override;
  void to_session(tracker::ConnectionId connection, wire::ToSession message) override;
  void agent_works();
  void agent_hears(wire::ToAgent& message);
  void session_works();
  void session_hears(wire::ToSession& message);

  FakeClock clock_;
  const tracker::TrackerOptions options_;
  class tracker::Tracker tracker_;
  tracker::ConnectionId next_connection_ = 1;
  std::map<tracker::ConnectionId, std::deque<wire::ToAgent>> to_agents_;
  std::map<tracker::ConnectionId, std::deque<wire::ToSession>> to_sessions_;
  GoodAgent agent_;
  GoodSession session_;
};

}  // namespace hone::fuzz
