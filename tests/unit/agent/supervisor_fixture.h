// A supervisor over a measurer and a tracker that tests play, and a clock that they set.
#pragma once

#include "rpc/agent/supervise/supervisor.h"

#include <gmock/gmock.h>

#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "tests/fakes/eventually.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/hash_collision.h"

namespace hone::agent {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using wire::LeaseId;
using wire::ResultStatus;

// Builds and runs at once, or when the test says so.
class FakeMeasurer final : public Measurer {
 public:
  explicit FakeMeasurer(asio::io_context& io) : gate_(io) {}

  awaitable<BuildOutcome> build(BuildOrder order) override {
    const std::string* module = order.module.get();
    builds.push_back(*module);
    orders.push_back(order);
    BuildOutcome out;
    out.seconds = 0.5;
    if (module->starts_with("bad")) {
      out.status = ResultStatus::kRejected;
      out.message = "no good";
    } else {
      auto file = std::make_shared<BuiltFile>();
      file->module.info.params = {{*module, ParamRole::kOutput, f32, {1}, Layout::identity({1})}};
      out.file = file;
    }
    co_return out;
  }
  awaitable<RunReply> run(RunRequest request) override {
    RunReply reply = this->reply;
    reply.run_seconds = 0.25;
    cancelled = false;
    requests.push_back(request);
    for (const BuiltModule& m : request.candidates) {
      runs.push_back(m.info.params[0].name);
      wire::CandidateResult r;
      r.status = status;
      r.times = {static_cast<double>(runs.size())};
      reply.candidates.push_back(r);
    }
    if (on_run) on_run();
    while (blocked && !cancelled) co_await gate_.wait();
    if (cancelled)
      for (wire::CandidateResult& r : reply.candidates) r.status = ResultStatus::kCancelled;
    co_return reply;
  }
  void cancel_run() override {
    cancelled = true;
    gate_.notify();
  }
  void unblock() {
    blocked = false;
    gate_.notify();
  }

  std::vector<std::string> builds, runs;
  std::vector<BuildOrder> orders;
  std::vector<RunRequest> requests;
  ResultStatus status = ResultStatus::kOk;  ///< of every candidate
  RunReply reply;                           ///< every run's answer beside its candidates
  bool blocked = false, cancelled = false;
  std::function<void()> on_run;

 private:
  Event gate_;
};

class SupervisorTest : public ::testing::Test {
 protected:
  SupervisorTest() {
    TrackerLink link;
    link.want = [this](uint32_t n) { wanted += n; };
    link.result = [this](const LeaseId& id, wire::JobResult r) { results[id.seq] = std::move(r); };
    link.give_back = [this](const std::vector<LeaseId>& ids, const std::string&) {
      for (const LeaseId& id : ids) returned.push_back(id.seq);
    };
    link.request_blobs = [this](std::vector<Hash128> hashes, TrackerLink::BlobReply reply) {
      ++blob_requests;
      EXPECT_EQ(std::set<Hash128>(hashes.begin(), hashes.end()).size(), hashes.size()) << "asked for twice at once";
      if (hold_blobs) {
        held_reply = [this, hashes, reply] { answer(hashes, reply); };
        return;
      }
      std::vector<Hash128> now;
      for (const Hash128 h : hashes) (silent.contains(h) ? unanswered : now).push_back(h);
      if (now.size() < hashes.size()) held_reply = [this, reply] { answer(std::exchange(unanswered, {}), reply); };
      if (!now.empty()) answer(now, reply);
    };
    SupervisorOptions options;
    options.device = "a/cpu";
    options.batch = 4;
    options.allow_fake = true;
    options.blob_bytes = 4096;
    options.glance = [this] {
      machine.throttled = throttled ? throttled() : "";
      return machine;
    };
    options.most_throttled_s = 2;
    supervisor.emplace(io, options, link, measurer, clock);
    supervisor->start();
  }

  void answer(const std::vector<Hash128>& hashes, const TrackerLink::BlobReply& reply) {
    std::vector<wire::Blob> found;
    std::vector<Hash128> missing;
    for (const Hash128 h : hashes) {
      if (blobs.contains(h))
        found.push_back({h, blobs[h]});
      else
        missing.push_back(h);
    }
    reply(found, missing);
  }

  wire::Lease lease(uint64_t seq, const std::vector<std::string>& modules) {
    wire::Lease l;
    l.id.seq = seq;
    l.device = "a/cpu";
    l.job.seq = seq;
    for (const std::string& m : modules) {
      blobs[wire::blob_id(m)] = m;
      l.job.modules.push_back(wire::blob_id(m));
    }
    return l;
  }
  // A lease of another session than lease()'s.
  wire::Lease lease_of(uint8_t session, uint64_t seq, const std::vector<std::string>& modules) {
    wire::Lease l = lease(seq, modules);
    l.id.session.value[0] = session;
    return l;
  }
  void refer_to(wire::Lease* l, const std::string& module) {
    blobs[wire::blob_id(module)] = module;
    l->job.reference.emplace();
    l->job.reference->module_hash = wire::blob_id(module);
  }
  // Acts as a timer would.
  void pass(Clock::Duration time) {
    clock.advance(time);
    supervisor->on_leases({});
    settle();
  }
  static LeaseId id(uint64_t seq) {
    LeaseId l;
    l.seq = seq;
    return l;
  }
  static LeaseId id_of(uint8_t session, uint64_t seq) {
    LeaseId l = id(seq);
    l.session.value[0] = session;
    return l;
  }

  // Until nothing more happens by itself.
  void settle() {
    io.restart();
    io.poll();
  }

  // For work that a real timer ends.
  void settle_until(const std::function<bool()>& holds) {
    EXPECT_TRUE(eventually([&] {
      settle();
      return holds();
    }));
  }

  asio::io_context io;
  FakeClock clock;
  std::function<std::string()> throttled;
  wire::DeviceHealth machine;  ///< its health otherwise
  FakeMeasurer measurer{io};
  std::map<Hash128, std::string> blobs;
  bool hold_blobs = false;
  std::set<Hash128> silent;  ///< blobs that are never answered
  std::vector<Hash128> unanswered;
  std::function<void()> held_reply;
  int blob_requests = 0;
  uint32_t wanted = 0;
  std::map<uint64_t, wire::JobResult> results;
  std::vector<uint64_t> returned;
  std::optional<Supervisor> supervisor;
};

}  // namespace hone::agent
