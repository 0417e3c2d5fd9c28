#include <fmt/format.h>

#include <deque>
#include <iostream>

#include "base/log.h"
#include "tests/bench/fleet_parts.h"
#include "tracker/core.h"

namespace hone::bench {
namespace {

using namespace tracker;

constexpr uint32_t kBusy = 16, kSlots = 16;

// Keeps the leases that were sent; counts the rest.
class Sink final : public Outbox {
 public:
  void to_agent(ConnectionId connection, wire::ToAgent message) override {
    if (auto* sent = std::get_if<wire::Leases>(&message))
      for (wire::Lease& lease : sent->leases) leases.emplace_back(connection, std::move(lease));
  }
  void to_session(ConnectionId, wire::ToSession message) override {
    if (auto* sent = std::get_if<wire::SessionResults>(&message))
      for (const wire::JobResult& result : sent->results) results.push_back(result.seq);
  }
  std::deque<std::pair<ConnectionId, wire::Lease>> leases;
  std::vector<uint64_t> results;
};

wire::Job fake_job(uint64_t seq) {
  wire::Job job;
  job.seq = seq;
  job.fake = wire::FakePayload{};
  return job;
}

// One session keeps its window full, the busy devices answer at once; the others want leases and get none, or those of
// the busy.
double leases_per_second(uint32_t idle, const std::string& idle_target, double seconds) {
  Sink sink;
  const SteadyClock clock;
  class Tracker fleet(TrackerOptions{.memory = size_t{8} << 30, .allow_fake = true, .max_agents = 1 << 14}, clock,
                      sink);
  ConnectionId next = 1;
  const auto agent = [&](const std::string& name, const std::string& target) {
    wire::AgentHello hello;
    hello.name = name;
    hello.instance = wire::Uuid::random();
    wire::DeviceInfo device;
    device.key = name + "/cpu";
    device.target = target;
    hello.devices = {device};
    fleet.agent_message(next, hello);
    fleet.agent_message(next, wire::Want{device.key, kSlots});
    return next++;
  };
  for (uint32_t i = 0; i < idle; ++i) agent(fmt::format("idle{}", i), idle_target);
  for (uint32_t i = 0; i < kBusy; ++i) agent(fmt::format("busy{}", i), "llvm -mcpu=test");
  const ConnectionId session = next++;
  wire::SessionOpen open;
  open.session = wire::Uuid::random();
  open.target_kind = "llvm";
  fleet.session_message(session, open);

  uint64_t seq = 1;
  wire::Submit first;
  for (; seq <= 256; ++seq) first.jobs.push_back(fake_job(seq));
  fleet.session_message(session, std::move(first));
  const auto begin = clock.now();
  auto ticked = begin;
  const auto passed = [&] { return std::chrono::duration<double>(clock.now() - begin).count(); };
  uint64_t done = 0;
  // Messages hold as many jobs as those of a real stream do under load.
  constexpr size_t kBatch = 8;
  while (!sink.leases.empty() && (done % 4096 != 0 || passed() < seconds)) {
    const ConnectionId from = sink.leases.front().first;
    wire::AgentResults answer;
    std::string device;
    while (!sink.leases.empty() && sink.leases.front().first == from && answer.leases.size() < kBatch) {
      const wire::Lease& lease = sink.leases.front().second;
      wire::CandidateResult candidate;
      candidate.times = {1e-3};
      wire::JobResult result;
      result.session = lease.id.session;
      result.seq = lease.id.seq;
      result.candidates = {candidate};
      result.phases.run = 0.01;
      answer.results.push_back(std::move(result));
      answer.leases.push_back(lease.id);
      device = lease.device;
      sink.leases.pop_front();
      ++done;
    }
    const auto count = static_cast<uint32_t>(answer.leases.size());
    fleet.agent_message(from, std::move(answer));
    fleet.session_message(session, wire::SessionAck{std::exchange(sink.results, {})});
    wire::Submit more;
    for (uint32_t i = 0; i < count; ++i) more.jobs.push_back(fake_job(seq++));
    fleet.session_message(session, std::move(more));
    fleet.agent_message(from, wire::Want{device, count});
    if (clock.now() - ticked > std::chrono::milliseconds(250)) {
      ticked = clock.now();
      fleet.tick();
    }
  }
  return static_cast<double>(done) / passed();
}

}  // namespace

Status measure_in_process(const FleetFlags& flags) {
  spdlog::set_level(spdlog::level::err);
  const double seconds = std::min(flags.seconds, 3.0);
  std::cout << fmt::format("in process: {:>10.0f} leases/s with {} devices\n", leases_per_second(0, "", seconds), kBusy)
            << std::flush;
  std::cout << fmt::format("            {:>10.0f} leases/s beside 10,000 idle devices of another kind\n",
                           leases_per_second(10000, "cuda -arch=sm_90", seconds))
            << std::flush;
  std::cout << fmt::format("            {:>10.0f} leases/s spread over {} devices of the same kind\n",
                           leases_per_second(10000, "llvm -mcpu=test", seconds), 10000 + kBusy)
            << std::flush;
  return absl::OkStatus();
}

}  // namespace hone::bench
