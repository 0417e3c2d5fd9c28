#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "rpc/wire/agent_client.h"
#include "rpc/wire/event_loop.h"
#include "tests/bench/bench_sessions.h"
#include "tests/bench/fleet_parts.h"
#include "tests/bench/fleet_tracker.h"

namespace hone::bench {
namespace {

// A device that works on one job after the other, each for the job's time divided by its speed; it only waits.
class TimedAgent {
 public:
  TimedAgent(wire::ClientOptions dial, const std::string& name, double speed,
             std::function<void(const wire::Uuid&, double)> charge)
      : device_(name + "/cpu"), speed_(speed), charge_(std::move(charge)) {
    wire::AgentIdentity identity;
    identity.name = name;
    wire::DeviceInfo info;
    info.key = device_;
    info.target = "llvm -mcpu=test";
    identity.devices = {info};
    wire::AgentHandlers handlers;
    handlers.on_leases = [this](std::vector<wire::Lease> leases) {
      loop_.post([this, leases = std::move(leases)]() mutable {
        for (wire::Lease& lease : leases) queue_.push_back(std::move(lease));
        work();
      });
    };
    handlers.on_take_back = [this](const std::vector<wire::LeaseId>& ids) {
      loop_.post([this, ids] {
        const size_t had = queue_.size();
        std::erase_if(
            queue_, [&](const wire::Lease& lease) { return std::find(ids.begin(), ids.end(), lease.id) != ids.end(); });
        client_->give_back(ids, "taken back");
        client_->want(device_, static_cast<uint32_t>(had - queue_.size()));
      });
    };
    client_ = std::make_unique<wire::AgentClient>(std::move(dial), std::move(identity), std::move(handlers));
    client_->want(device_, 16);
  }
  ~TimedAgent() { loop_.stop(); }  // before the client that its tasks use

 private:
  void work() {
    if (busy_ || queue_.empty()) return;
    busy_ = true;
    const wire::Lease lease = queue_.front();
    queue_.erase(queue_.begin());
    const auto begin = now_ns();
    const double seconds = lease.job.fake->run_seconds / speed_;
    loop_.after(std::chrono::milliseconds(static_cast<int64_t>(1e3 * seconds)), [this, lease, begin] {
      const double took = static_cast<double>(now_ns() - begin) * 1e-9;
      charge_(lease.id.session, took);
      wire::CandidateResult candidate;
      candidate.times = {1e-3};
      wire::JobResult result;
      result.candidates = {candidate};
      result.phases.run = took;
      client_->result(lease.id, std::move(result));
      client_->want(device_, 1);
      busy_ = false;
      work();
    });
  }

  const std::string device_;
  const double speed_;
  const std::function<void(const wire::Uuid&, double)> charge_;
  std::vector<wire::Lease> queue_;  // of the loop's thread, like busy_
  bool busy_ = false;
  wire::EventLoop loop_;
  std::unique_ptr<wire::AgentClient> client_;
};

}  // namespace

Status measure_fair(const FleetFlags& flags) {
  spdlog::set_level(spdlog::level::err);
  HONE_ASSIGN_OR_RETURN(const TrackerProcess tracker, TrackerProcess::start(flags.plain));
  std::mutex mutex;
  std::map<wire::Uuid, double> used;
  bool counting = true;
  struct Wish {
    double weight;
    double run_seconds;
    uint32_t outstanding;
  };
  // All have as much outstanding as their windows hold; the last one floods with the longest jobs.
  const std::vector<Wish> wishes = {{1, 0.04, 250}, {2, 0.02, 250}, {3, 0.08, 250}, {4, 0.04, 250},
                                    {1, 0.16, 250}, {2, 0.04, 250}, {3, 0.02, 250}, {1, 0.2, 5000}};
  std::vector<wire::Uuid> ids;
  std::vector<std::unique_ptr<BenchSession>> sessions;
  double weights = 0;
  for (const Wish& wish : wishes) {
    const wire::SessionOpen open = bench_open("fair", wish.weight);
    ids.push_back(open.session);
    weights += wish.weight;
    sessions.push_back(std::make_unique<BenchSession>(
        tracker.session(), open, wire::FakePayload{wish.run_seconds, wire::ResultStatus::kOk, {}}, wish.outstanding));
  }
  // All have their jobs queued before the first device comes: otherwise the first one would be served alone.
  for (const auto& session : sessions) HONE_RETURN_IF_ERROR(session->client().wait_open(std::chrono::seconds(10)));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  std::vector<std::unique_ptr<TimedAgent>> agents;
  for (const double speed : {1.0, 1.0, 2.0, 3.0, 5.0, 8.0})
    agents.push_back(std::make_unique<TimedAgent>(tracker.agent(), fmt::format("speed{}", agents.size()), speed,
                                                  [&](const wire::Uuid& session, double seconds) {
                                                    std::lock_guard lock(mutex);
                                                    if (counting) used[session] += seconds;
                                                  }));
  const double seconds = std::max(30.0, flags.seconds);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  std::map<wire::Uuid, double> seen;
  {
    std::lock_guard lock(mutex);
    counting = false;
    seen = used;
  }
  double total = 0, worst = 0;
  for (const auto& [id, s] : seen) total += s;
  std::cout << fmt::format(
      "fair:       {} devices of speed 1 to 8 were {:.1f}% busy for {:.0f} s; device seconds by session\n",
      agents.size(), 100 * total / (seconds * static_cast<double>(agents.size())), seconds);
  for (size_t i = 0; i < wishes.size(); ++i) {
    const double share = seen[ids[i]] / total, due = wishes[i].weight / weights;
    worst = std::max(worst, std::abs(share / due - 1));
    std::cout << fmt::format(
        "            weight {:.0f}, jobs of {:>3.0f} ms{:<11} due {:5.2f}%, had {:5.2f}% ({:+.1f}%)\n",
        wishes[i].weight, 1e3 * wishes[i].run_seconds, wishes[i].outstanding > 1000 ? ", flooding:" : ":", 100 * due,
        100 * share, 100 * (share / due - 1));
  }
  std::cout << fmt::format("            furthest off its share: {:.1f}%\n", 100 * worst) << std::flush;
  sessions.clear();
  return absl::OkStatus();
}

}  // namespace hone::bench
