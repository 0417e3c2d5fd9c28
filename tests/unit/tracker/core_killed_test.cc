// Tuners that are killed, or never answer, beside two that do their work: the share left for these, in fake time.
#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <set>

#include "tests/fakes/fake_fleet.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;

constexpr auto kStep = 50ms, kJob = 100ms;
constexpr size_t kBatch = 8, kOutstanding = 64;

/// A session whose every job is a module of its own.
struct SimTuner {
  ConnectionId connection = 0;
  bool answers = true;  // when it is asked for modules
  uint64_t next_seq = 1;
  size_t outstanding = 0, done = 0;
};

/// One device that measures as an agent does: it asks for the modules of its leases when they come, and begins a batch
/// of eight when it has heard of each.
class World {
 public:
  World() : agent_(fleet_.agent("a", 2 * kBatch)) {}

  size_t open(bool answers) {
    SimTuner tuner;
    tuner.connection = fleet_.open(wire::Uuid::random());
    tuner.answers = answers;
    tuners_.push_back(tuner);
    return tuners_.size() - 1;
  }
  void kill(size_t tuner) {
    fleet_.tracker->session_gone(tuners_[tuner].connection);
    tuners_[tuner].connection = 0;
  }
  size_t done(size_t tuner) const { return tuners_[tuner].done; }

  void run(Clock::Duration time) {
    for (const auto until = fleet_.clock.now() + time; fleet_.clock.now() < until;) {
      for (SimTuner& tuner : tuners_)
        if (tuner.connection != 0) step(tuner);
      step_agent();
      fleet_.pass(kStep);
    }
  }

 private:
  static std::string module_of(const SimTuner& tuner, uint64_t seq) {
    return std::to_string(tuner.connection) + " " + std::to_string(seq);
  }

  void step(SimTuner& tuner) {
    wire::SessionAck ack;
    for (const auto& result : fleet_.results(tuner.connection)) {
      ack.seqs.push_back(result.seq);
      --tuner.outstanding;
      tuner.done += result.candidates.at(0).status == wire::ResultStatus::kOk;
    }
    if (!ack.seqs.empty()) fleet_.tracker->session_message(tuner.connection, ack);
    wire::Submit submit;
    for (; tuner.outstanding < kOutstanding; ++tuner.outstanding) {
      wire::Job& job = submit.jobs.emplace_back();
      job.seq = tuner.next_seq++;
      const std::string module = module_of(tuner, job.seq);
      job.modules = {hash_bytes(module)};
      bytes_[job.modules[0]] = module;
    }
    if (!submit.jobs.empty()) fleet_.tracker->session_message(tuner.connection, submit);
    for (const auto& request : fleet_.take_session<wire::BlobRequest>(tuner.connection)) {
      if (!tuner.answers) continue;
      wire::Blobs blobs;
      for (const Hash128& hash : request.hashes) blobs.blobs.push_back({hash, bytes_.at(hash)});
      fleet_.tracker->session_message(tuner.connection, blobs);
    }
  }

  void step_agent() {
    std::set<wire::LeaseId> gone;
    for (const auto& id : fleet_.ids<wire::Cancel>(agent_)) gone.insert(id);
    wire::GiveBack back;
    for (const auto& id : fleet_.ids<wire::TakeBack>(agent_))
      if (std::any_of(store_.begin(), store_.end(), [&](const wire::Lease& lease) { return lease.id == id; }))
        back.leases.push_back(id), gone.insert(id);
    if (!back.leases.empty()) fleet_.tracker->agent_message(agent_, back);
    const auto freed = std::erase_if(store_, [&](const wire::Lease& lease) { return gone.contains(lease.id); }) +
                       std::erase_if(batch_, [&](const wire::Lease& lease) { return gone.contains(lease.id); });
    if (freed > 0) fleet_.want(agent_, "a", static_cast<uint32_t>(freed));
    for (const auto& blobs : fleet_.take_agent<wire::Blobs>(agent_)) {
      for (const auto& blob : blobs.blobs) heard_[blob.hash] = true;
      for (const Hash128& hash : blobs.missing) heard_[hash] = false;
    }
    wire::BlobRequest request;
    for (wire::Lease& lease : fleet_.leases(agent_)) {
      request.hashes.push_back(lease.job.modules.at(0));
      heard_.erase(request.hashes.back());
      store_.push_back(std::move(lease));
    }
    if (!request.hashes.empty()) fleet_.tracker->agent_message(agent_, request);
    wire::Heartbeat beat;
    for (const auto* leases : {&store_, &batch_})
      for (const wire::Lease& lease : *leases) beat.working.push_back(lease.id);
    fleet_.tracker->agent_message(agent_, beat);
    fleet_.ids<wire::ResultAck>(agent_);
    if (batch_.empty())
      while (!store_.empty() && batch_.size() < kBatch) batch_.push_back(store_.front()), store_.pop_front();
    const auto heard = [&](const wire::Lease& lease) { return heard_.contains(lease.job.modules[0]); };
    if (batch_.empty() || fleet_.clock.now() < free_at_ || !std::all_of(batch_.begin(), batch_.end(), heard)) return;
    const wire::Lease lease = batch_.front();
    batch_.pop_front();
    const bool ok = heard_.at(lease.job.modules[0]);
    if (ok) free_at_ = fleet_.clock.now() + kJob;
    fleet_.finish(agent_, lease, ok ? wire::ResultStatus::kOk : wire::ResultStatus::kBuildFailed);
    fleet_.want(agent_, "a", 1);
  }

  FakeFleet fleet_;
  const ConnectionId agent_;
  std::vector<SimTuner> tuners_;
  std::deque<wire::Lease> store_, batch_;
  std::map<Hash128, std::string> bytes_;
  std::map<Hash128, bool> heard_;
  Clock::TimePoint free_at_{};
};

constexpr auto kTotal = 120s;

double trials_alone() {
  World world;
  const size_t one = world.open(true), two = world.open(true);
  world.run(kTotal);
  return static_cast<double>(world.done(one) + world.done(two));
}

TEST(KilledTuners, LeaveTheOthersNineTenthsOfWhatTheyHadAlone) {
  World world;
  const size_t one = world.open(true), two = world.open(true);
  std::mt19937 random(7);
  for (int k = 0; k < 6; ++k) {
    const auto alive = std::chrono::milliseconds(100 + random() % 1500);
    world.run(5s);
    const size_t doomed = world.open(true);
    world.run(alive);
    world.kill(doomed);
    world.run(15s - alive);
  }
  const auto first = static_cast<double>(world.done(one)), second = static_cast<double>(world.done(two));
  const double share = (first + second) / trials_alone();
  std::cout << "with six killed tuners: " << share << " of the trials without them\n";
  EXPECT_GE(share, 0.9);
  EXPECT_NEAR(first, second, 0.1 * first);
}

TEST(SilentTuners, LeaveTheOthersAllTheyHadAlone) {
  World world;
  const size_t one = world.open(true), two = world.open(true);
  for (int k = 0; k < 6; ++k) world.open(false);
  world.run(kTotal);
  const double share = static_cast<double>(world.done(one) + world.done(two)) / trials_alone();
  std::cout << "with six silent tuners: " << share << " of the trials without them\n";
  EXPECT_GE(share, 0.98);
}

}  // namespace
}  // namespace hone::tracker
