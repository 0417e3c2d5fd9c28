// Sessions of fake jobs on the real client: one keeps its window full, another submits at a given rate.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "rpc/wire/session_client.h"

namespace hone::bench {

inline int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

/// Acknowledges all results. With `outstanding` it submits a new job for every result.
class BenchSession {
 public:
  BenchSession(wire::ClientOptions dial, wire::SessionOpen open, wire::FakePayload job, uint32_t outstanding)
      : job_(std::move(job)), refill_(outstanding > 0) {
    wire::SessionHandlers handlers;
    handlers.on_results = [this](std::vector<wire::JobResult> results) { on_results(results); };
    client_ = std::make_unique<wire::SessionClient>(std::move(dial), std::move(open), std::move(handlers));
    submit(outstanding);
  }
  ~BenchSession() { refill_ = false; }

  void submit(uint32_t count) {
    std::vector<wire::Job> jobs(count);
    for (wire::Job& job : jobs) {
      job.seq = next_seq_++;
      job.fake = job_;
    }
    if (count > 0) client_->submit(std::move(jobs));
  }
  uint64_t done() const { return done_; }
  wire::SessionClient& client() { return *client_; }

 private:
  void on_results(const std::vector<wire::JobResult>& results) {
    std::vector<uint64_t> seqs;
    for (const wire::JobResult& result : results) seqs.push_back(result.seq);
    done_ += seqs.size();
    client_->ack(seqs);
    if (refill_) submit(static_cast<uint32_t>(seqs.size()));
  }

  const wire::FakePayload job_;
  std::atomic<bool> refill_;
  std::atomic<uint64_t> next_seq_{1}, done_{0};
  std::unique_ptr<wire::SessionClient> client_;  // last: its handlers use all members above
};

/// A session that any device of the simulated kind serves.
inline wire::SessionOpen bench_open(const std::string& title, double weight = 1) {
  wire::SessionOpen open;
  open.session = wire::Uuid::random();
  open.title = title;
  open.target_kind = "llvm";
  open.weight = weight;
  return open;
}

}  // namespace hone::bench
