#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "base/log.h"
#include "rpc/wire/access/channel.h"
#include "rpc/wire/agent_client.h"
#include "rpc/wire/event_loop.h"
#include "rpc/wire/messages/convert.h"
#include "tests/bench/bench_sessions.h"
#include "tests/bench/fleet_parts.h"
#include "tests/bench/fleet_tracker.h"
#include "tracker.grpc.pb.h"

namespace hone::bench {
namespace {

constexpr uint64_t kOutstanding = 64;
constexpr size_t kBatch = 8, kModuleBytes = 16 << 10;
constexpr auto kJob = std::chrono::milliseconds(40);
constexpr int kTuners = 6;

// A module of its own for each (tuner, seq).
std::string module_of(uint64_t tuner, uint64_t seq) {
  std::string out = fmt::format("{} {} ", tuner, seq);
  out.resize(kModuleBytes, 'm');
  return out;
}

wire::Job job_of(uint64_t tuner, uint64_t seq) {
  wire::Job job;
  job.seq = seq;
  job.modules = {wire::blob_id(module_of(tuner, seq))};
  return job;
}

// A device that begins a batch of eight when it has an answer for each of its modules, and is busy with each job for a
// while.
class BatchAgent {
 public:
  BatchAgent(wire::ClientOptions dial, const std::string& name) : device_(name + "/cpu") {
    wire::AgentIdentity identity;
    identity.name = name;
    wire::DeviceInfo info;
    info.key = device_;
    info.target = "llvm -mcpu=test";
    identity.devices = {info};
    wire::AgentHandlers handlers;
    handlers.on_leases = [this](std::vector<wire::Lease> leases) {
      std::vector<Hash128> wanted;
      for (const wire::Lease& lease : leases) wanted.push_back(lease.job.modules.at(0));
      loop_.post([this, leases = std::move(leases)]() mutable {
        for (wire::Lease& lease : leases) {
          heard_.erase(lease.job.modules[0]);
          store_.push_back(std::move(lease));
        }
      });
      client_->request_blobs(wanted, [this](const std::vector<wire::Blob>& found, const std::vector<Hash128>& missing) {
        std::vector<std::pair<Hash128, bool>> news;
        for (const wire::Blob& blob : found) news.emplace_back(blob.hash, true);
        for (const Hash128& hash : missing) news.emplace_back(hash, false);
        loop_.post([this, news = std::move(news)] {
          for (const auto& [hash, here] : news) heard_[hash] = here;
          work();
        });
      });
    };
    handlers.on_cancel = [this](const std::vector<wire::LeaseId>& ids) {
      loop_.post([this, ids] {
        drop(ids, &batch_);
        drop(ids, &store_);
      });
    };
    handlers.on_take_back = [this](const std::vector<wire::LeaseId>& ids) {
      loop_.post([this, ids] {
        client_->give_back(drop(ids, &store_), "taken back");
        work();
      });
    };
    client_ = std::make_unique<wire::AgentClient>(std::move(dial), std::move(identity), std::move(handlers));
    client_->want(device_, 2 * kBatch);
  }
  ~BatchAgent() {
    loop_.stop();
    client_.reset();
  }

 private:
  // Removes the leases `ids` from `from`; returns those that were there.
  std::vector<wire::LeaseId> drop(const std::vector<wire::LeaseId>& ids, std::vector<wire::Lease>* from) {
    std::vector<wire::LeaseId> dropped;
    std::erase_if(*from, [&](const wire::Lease& lease) {
      if (std::find(ids.begin(), ids.end(), lease.id) == ids.end()) return false;
      dropped.push_back(lease.id);
      return true;
    });
    client_->want(device_, static_cast<uint32_t>(dropped.size()));
    work();
    return dropped;
  }

  void work() {
    if (busy_) return;
    if (batch_.empty()) {
      const size_t count = std::min(kBatch, store_.size());
      batch_.assign(store_.begin(), store_.begin() + static_cast<std::ptrdiff_t>(count));
      store_.erase(store_.begin(), store_.begin() + static_cast<std::ptrdiff_t>(count));
    }
    if (batch_.empty() || !std::all_of(batch_.begin(), batch_.end(),
                                       [&](const wire::Lease& lease) { return heard_.contains(lease.job.modules[0]); }))
      return;
    busy_ = true;
    const wire::Lease lease = batch_.front();
    batch_.erase(batch_.begin());
    loop_.after(kJob, [this, lease] {
      wire::CandidateResult candidate;
      candidate.status = heard_[lease.job.modules[0]] ? wire::ResultStatus::kOk : wire::ResultStatus::kBuildFailed;
      if (candidate.status == wire::ResultStatus::kOk) candidate.times = {1e-3};
      wire::JobResult result;
      result.candidates = {candidate};
      result.phases.run = std::chrono::duration<double>(kJob).count();
      client_->result(lease.id, std::move(result));
      client_->want(device_, 1);
      busy_ = false;
      work();
    });
  }

  const std::string device_;
  std::vector<wire::Lease> store_, batch_;  // of the loop's thread, like what follows
  std::map<Hash128, bool> heard_;
  bool busy_ = false;
  wire::EventLoop loop_;
  std::unique_ptr<wire::AgentClient> client_;
};

// A tuner that does its work.
class Honest {
 public:
  Honest(wire::ClientOptions dial, uint64_t which) : which_(which) {
    wire::SessionHandlers handlers;
    handlers.on_results = [this](const std::vector<wire::JobResult>& results) {
      std::vector<uint64_t> seqs;
      for (const wire::JobResult& result : results) {
        seqs.push_back(result.seq);
        if (result.candidates.at(0).status == wire::ResultStatus::kOk) ++done_;
      }
      client_->ack(seqs);
      submit(seqs.size());
    };
    handlers.blob = [this](const Hash128& hash) -> std::optional<std::string> {
      std::lock_guard lock(mutex_);
      const auto seq = seqs_.find(hash);
      if (seq == seqs_.end()) return std::nullopt;
      return module_of(which_, seq->second);
    };
    client_ = std::make_unique<wire::SessionClient>(std::move(dial), bench_open("honest"), std::move(handlers));
    submit(kOutstanding);
  }
  uint64_t done() const { return done_; }

 private:
  void submit(uint64_t count) {
    std::vector<wire::Job> jobs;
    {
      std::lock_guard lock(mutex_);
      for (uint64_t i = 0; i < count; ++i) {
        jobs.push_back(job_of(which_, next_++));
        seqs_[jobs.back().modules[0]] = jobs.back().seq;
      }
    }
    client_->submit(std::move(jobs));
  }
  const uint64_t which_;
  std::atomic<uint64_t> done_{0};
  std::mutex mutex_;
  std::map<Hash128, uint64_t> seqs_;
  uint64_t next_ = 1;
  std::unique_ptr<wire::SessionClient> client_;  // last: its handlers use all members above
};

// A tuner that works for `seconds` and then vanishes, as after SIGKILL: its stream is cut.
void doomed(const TrackerProcess& tracker, uint64_t which, double seconds) {
  const wire::ClientOptions dial = tracker.session();
  const auto stub = proto::Tracker::NewStub(wire::make_channel(dial.tracker, dial.credentials));
  grpc::ClientContext context;
  wire::show_token(context, dial.credentials);
  const auto stream = stub->Session(&context);
  std::mutex mutex;
  const auto send = [&](wire::FromSession message) {
    proto::SessionToTracker out;
    wire::to_wire(std::move(message), &out);
    std::lock_guard lock(mutex);
    stream->Write(out);
  };
  std::map<Hash128, std::string> modules;
  uint64_t next = 1;
  const auto submit = [&](uint64_t count) {
    wire::Submit message;
    for (uint64_t i = 0; i < count; ++i) {
      message.jobs.push_back(job_of(which, next));
      modules[message.jobs.back().modules[0]] = module_of(which, next++);
    }
    send(std::move(message));
  };
  send(bench_open("doomed"));
  submit(kOutstanding);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    context.TryCancel();
  });
  for (proto::TrackerToSession in; stream->Read(&in);) {
    auto message = wire::from_wire(std::move(in));
    if (!message.ok()) continue;
    if (const auto* asked = std::get_if<wire::BlobRequest>(&*message)) {
      wire::Blobs blobs;
      for (const Hash128& hash : asked->hashes) blobs.blobs.push_back({hash, modules.at(hash)});
      send(std::move(blobs));
    } else if (const auto* results = std::get_if<wire::SessionResults>(&*message)) {
      wire::SessionAck ack;
      for (const wire::JobResult& result : results->results) ack.seqs.push_back(result.seq);
      const size_t count = ack.seqs.size();
      send(std::move(ack));
      submit(count);
    }
  }
  killer.join();
  stream->Finish();
}

// Jobs that two honest tuners got done, with or without others that are killed beside them.
StatusOr<uint64_t> honest_jobs(const FleetFlags& flags, double seconds, bool killed) {
  HONE_ASSIGN_OR_RETURN(const TrackerProcess tracker, TrackerProcess::start(flags.plain));
  Honest one(tracker.session(), 1), two(tracker.session(), 2);
  const BatchAgent agent(tracker.agent(), "board");
  std::mt19937_64 random(flags.seed);
  const auto uniform = [&](double low, double high) { return std::uniform_real_distribution<>(low, high)(random); };
  const double each = seconds / kTuners;
  const auto begin = one.done() + two.done();
  for (int k = 0; k < kTuners; ++k) {
    const double alive = uniform(0.05, 0.12) * each;  // random moments of its start-up and first batches
    const double before = uniform(0, 0.3) * each;
    std::this_thread::sleep_for(std::chrono::duration<double>(before));
    if (killed)
      doomed(tracker, 100 + static_cast<uint64_t>(k), alive);
    else
      std::this_thread::sleep_for(std::chrono::duration<double>(alive));
    std::this_thread::sleep_for(std::chrono::duration<double>(each - before - alive));
  }
  return one.done() + two.done() - begin;
}

}  // namespace

Status measure_killed(const FleetFlags& flags) {
  spdlog::set_level(spdlog::level::err);
  const double seconds = std::max(60.0, flags.seconds);
  HONE_ASSIGN_OR_RETURN(const uint64_t alone, honest_jobs(flags, seconds, false));
  HONE_ASSIGN_OR_RETURN(const uint64_t beside, honest_jobs(flags, seconds, true));
  std::cout << fmt::format(
                   "killed:     two tuners got {} jobs of a device in {:.0f} s, and {} beside {} that were killed at "
                   "random moments: {:.2f} of what they had\n",
                   alone, seconds, beside, kTuners, static_cast<double>(beside) / static_cast<double>(alone))
            << std::flush;
  return absl::OkStatus();
}

}  // namespace hone::bench
