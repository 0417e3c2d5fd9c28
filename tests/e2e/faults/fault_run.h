// A fleet of the real programs under faults: a tracker, agents that take fake jobs, sessions, two proxies between them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "rpc/wire/messages/fleet_status.h"
#include "tests/e2e/faults/fault_plan.h"
#include "tests/e2e/faults/message_proxy.h"
#include "tests/e2e/faults/tcp_proxy.h"
#include "tests/e2e/fleet/programs.h"

namespace hone::e2e {

struct FaultOptions {
  uint64_t seed = 1;
  size_t faults = 60;
  std::chrono::milliseconds mean_gap{200};
  std::chrono::milliseconds longest{25'000};  ///< that a fault lasts
  int agents = 4;
  int sessions = 3;  ///< at a time; one that has ended is followed by another while there are faults to come
  uint64_t jobs = 2000;
};

/// Client -> TcpProxy (bytes) -> MessageProxy (messages) -> tracker. Each session has a database of its own.
class FaultRun : public Workplace {
 protected:
  ~FaultRun() override;

  /// Injects all faults, then lets the sessions end. Fails the test unless each job of each session has exactly one
  /// result, its own, nothing is left queued or leased, and no program ended by itself but sessions on a full disk.
  void run_faults(const FaultOptions& options);

  /// Starts proxies, tracker, agents and sessions, and waits until results come. `tracker_flags` are the tracker's.
  void start_fleet(const FaultOptions& options, const Words& tracker_flags);
  /// Results that session `index` has stored, as it says itself.
  uint64_t stored_by(int index) const;
  wire::FleetStatus status() const;
  Program& tracker() { return *members_.at("tracker").program; }
  Program& agent(int index) { return *members_.at("agent" + std::to_string(index)).program; }
  void restart_tracker() { start_member(members_.at("tracker")); }
  void restart_agent(int index) { start_member(members_.at("agent" + std::to_string(index))); }

 private:
  using Time = std::chrono::steady_clock::time_point;

  struct Member {
    std::string name;
    Words words;
    std::optional<Program> program;
    std::optional<Time> start_at;  // it is down until then
    // State of sessions:
    std::string uuid, db;
    uint64_t seed = 0;
    std::optional<uint64_t> disk_bytes;  // no file of it may grow beyond
    int disk_faults = 0;                 // in force
    bool saw_full_disk = false;
    bool ended = false;
  };

  void start_member(Member& member);
  void begin_session(Member& member);
  void limit_disk(Member& member);
  void supervise(Member& member);
  void on_session_end(Member& member, int code);
  void check_session(const Member& member);
  void resume_quarantined();
  void wait_until_idle();

  std::string apply(const Fault& fault);  // its target, for the log; empty: there was none
  std::string kill_one(const Fault& fault);
  std::string stop_one(const Fault& fault);
  std::string drop(const Fault& fault);
  std::string delay(const Fault& fault);
  std::string duplicate(const Fault& fault);
  std::string half_open(const Fault& fault);
  std::string slow_reader(const Fault& fault);
  std::string fill_disk(const Fault& fault);
  std::string flow(const Fault& fault, Flow flow, bool both);
  Member* pick_member(uint64_t draw);
  std::optional<std::string> pick_link(uint64_t draw);
  std::optional<uint64_t> pick_stream(uint64_t draw) const;
  void later(std::chrono::milliseconds after, std::function<void()> what);
  void note(const std::string& line);
  void wrong(const std::string& what);

  FaultOptions options_;
  std::string tracker_socket_, proxy_socket_;
  std::unique_ptr<MessageProxy> messages_;
  std::unique_ptr<TcpProxy> bytes_;
  std::map<std::string, uint16_t> ports_;  // by link
  std::map<std::string, Member> members_;
  std::multimap<Time, std::function<void()>> later_;
  Time began_{}, next_resume_{};
  bool more_faults_ = false, failed_ = false;
  uint64_t sessions_begun_ = 0;
  struct Totals {
    std::map<std::string, size_t> faults;  // by kind
    uint64_t sessions = 0, jobs = 0, device_lost = 0, restarts = 0, full_disks = 0, resumes = 0;
  } totals_;
};

}  // namespace hone::e2e
