#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "tests/bench/bench_sessions.h"
#include "tests/bench/fleet_parts.h"
#include "tests/bench/fleet_tracker.h"
#include "tests/bench/sim_agents.h"

namespace hone::bench {
namespace {

constexpr int kSessions = 4;

// From the session's submit() to the lease at the agent; both are in this process. The job's padding begins with the
// time of its submission.
class Latencies {
 public:
  void add(int64_t ns) {
    std::lock_guard lock(mutex_);
    ns_.push_back(ns);
  }
  double quantile_ms(double q) {
    std::lock_guard lock(mutex_);
    if (ns_.empty()) return 0;
    const size_t at = std::min(ns_.size() - 1, static_cast<size_t>(q * static_cast<double>(ns_.size())));
    std::nth_element(ns_.begin(), ns_.begin() + static_cast<std::ptrdiff_t>(at), ns_.end());
    return static_cast<double>(ns_[at]) * 1e-6;
  }
  size_t count() {
    std::lock_guard lock(mutex_);
    return ns_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<int64_t> ns_;
};

// Jobs at a steady rate, each stamped when it is submitted.
class PacedSession {
 public:
  PacedSession(wire::ClientOptions dial, uint32_t payload) : payload_(payload) {
    wire::SessionHandlers handlers;
    handlers.on_results = [this](const std::vector<wire::JobResult>& results) {
      std::vector<uint64_t> seqs;
      for (const wire::JobResult& result : results) seqs.push_back(result.seq);
      client_->ack(seqs);
    };
    client_ = std::make_unique<wire::SessionClient>(std::move(dial), bench_open("paced"), std::move(handlers));
  }
  void submit() {
    wire::Job job;
    job.seq = next_++;
    const int64_t now = now_ns();
    std::string padding(std::max<size_t>(payload_, sizeof now), 'x');
    std::copy_n(reinterpret_cast<const char*>(&now), sizeof now, padding.begin());
    job.fake = wire::FakePayload{1e-3, wire::ResultStatus::kOk, std::move(padding)};
    client_->submit({std::move(job)});
  }
  size_t outstanding() const { return client_->outstanding(); }

 private:
  const uint32_t payload_;
  uint64_t next_ = 1;
  std::unique_ptr<wire::SessionClient> client_;
};

}  // namespace

Status measure_loopback(const FleetFlags& flags) {
  spdlog::set_level(spdlog::level::err);
  HONE_ASSIGN_OR_RETURN(const TrackerProcess tracker, TrackerProcess::start(flags.plain));
  Latencies latencies;
  std::atomic<bool> stamped{false};
  SimOptions options;
  options.dial = tracker.agent();
  options.agents = flags.agents;
  SimAgents agents(options, [&](const wire::Lease& lease) {
    if (!stamped || !lease.job.fake || lease.job.fake->padding.size() < sizeof(int64_t)) return;
    int64_t sent = 0;
    std::copy_n(lease.job.fake->padding.begin(), sizeof sent, reinterpret_cast<char*>(&sent));
    latencies.add(now_ns() - sent);
  });
  if (agents.connect(60) < flags.agents) return absl::UnavailableError("not all simulated agents could connect");

  double rate = 0;
  {
    std::vector<std::unique_ptr<BenchSession>> sessions;
    const wire::FakePayload job{1e-3, wire::ResultStatus::kOk, std::string(flags.payload, 'x')};
    for (int i = 0; i < kSessions; ++i)
      sessions.push_back(std::make_unique<BenchSession>(tracker.session(), bench_open("full"), job, 200));
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const auto done = [&] {
      uint64_t sum = 0;
      for (const auto& session : sessions) sum += session->done();
      return sum;
    };
    const auto begin = now_ns();
    const uint64_t before = done();
    const double cpu = tracker.cpu_seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(flags.seconds));
    const double seconds = static_cast<double>(now_ns() - begin) * 1e-9;
    rate = static_cast<double>(done() - before) / seconds;
    std::cout << fmt::format(
                     "loopback:   {:>10.0f} jobs/s, {} agents, {} sessions, {} B a job ({}); the tracker used {:.0f}% "
                     "of a core\n",
                     rate, flags.agents, kSessions, flags.payload, flags.plain ? "plain" : "TLS",
                     100 * (tracker.cpu_seconds() - cpu) / seconds)
              << std::flush;
  }

  stamped = true;
  std::vector<std::unique_ptr<PacedSession>> paced;
  for (int i = 0; i < kSessions; ++i) paced.push_back(std::make_unique<PacedSession>(tracker.session(), flags.payload));
  const auto step = std::chrono::nanoseconds(static_cast<int64_t>(2e9 / rate));
  const auto begin = std::chrono::steady_clock::now();
  auto next = begin;
  for (size_t i = 0; next - begin < std::chrono::duration<double>(flags.seconds); ++i, next += step) {
    std::this_thread::sleep_until(next);
    paced[i % paced.size()]->submit();
  }
  for (const auto& session : paced)
    for (int i = 0; session->outstanding() > 0 && i < 5000; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::cout << fmt::format(
                   "            lease latency at {:.0f} jobs/s: p50 {:.2f} ms, p90 {:.2f}, p99 {:.2f}, most {:.2f} ({} "
                   "jobs)\n",
                   rate / 2, latencies.quantile_ms(0.5), latencies.quantile_ms(0.9), latencies.quantile_ms(0.99),
                   latencies.quantile_ms(1), latencies.count())
            << std::flush;
  return absl::OkStatus();
}

}  // namespace hone::bench
