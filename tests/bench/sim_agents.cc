#include "tests/bench/sim_agents.h"

#include <fmt/format.h>

#include <mutex>
#include <thread>

#include "rpc/wire/access/channel.h"
#include "rpc/wire/client_stream.h"
#include "rpc/wire/messages/convert.h"
#include "tracker.grpc.pb.h"

namespace hone::bench {
namespace {

using Stream = wire::ClientStream<proto::AgentToTracker, proto::TrackerToAgent>;

// State that all agents share.
struct Shared {
  SimOptions options;
  std::function<void(const wire::Lease&)> on_lease;
  std::atomic<uint32_t> connected{0}, failed{0}, lost{0};  // failed: lost before they were welcome
  std::atomic<double> heartbeat_s{3};
};

class SimAgent {
 public:
  SimAgent(Shared& shared, std::string name) : shared_(shared), device_(name + "/cpu"), name_(std::move(name)) {}

  void begin() {
    stub_ = proto::Tracker::NewStub(wire::make_channel(shared_.options.dial.tracker, shared_.options.dial.credentials));
    stream_ = std::make_shared<Stream>(
        Stream::Events{.message = [this](std::shared_ptr<proto::TrackerToAgent> in) { on_message(std::move(*in)); },
                       .done =
                           [this](std::shared_ptr<Stream>, const grpc::Status&) {
                             if (!welcomed_) ++shared_.failed;
                             ++shared_.lost, ended_ = true;
                           }});
    stream_->begin([this](grpc::ClientContext* context, auto* reactor) {
      wire::show_token(*context, shared_.options.dial.credentials);
      stub_->async()->Agent(context, reactor);
    });
    wire::AgentHello hello;
    hello.name = name_;
    hello.instance = wire::Uuid::random();
    wire::DeviceInfo info;
    info.key = device_;
    info.target = shared_.options.target;
    info.model = "simulated";
    hello.devices = {info};
    send(std::move(hello));
  }
  void beat() {
    if (welcomed_) send(wire::Heartbeat{});
  }
  void cancel() { stream_->cancel(); }
  bool ended() const { return ended_; }

 private:
  void send(wire::FromAgent message) {
    proto::AgentToTracker out;
    wire::to_wire(std::move(message), &out);
    stream_->send(std::move(out));
  }

  void on_message(proto::TrackerToAgent&& in) {
    auto message = wire::from_wire(std::move(in));
    if (message.ok()) {
      if (auto* welcome = std::get_if<wire::AgentWelcome>(&*message)) {
        shared_.heartbeat_s = welcome->heartbeat_s;
        welcomed_ = true;
        ++shared_.connected;
        send(wire::Want{device_, shared_.options.slots});
      } else if (auto* leases = std::get_if<wire::Leases>(&*message)) {
        answer(*leases);
      }
    }
    stream_->read_next();
  }

  void answer(const wire::Leases& leases) {
    wire::AgentResults results;
    for (const wire::Lease& lease : leases.leases) {
      shared_.on_lease(lease);
      wire::CandidateResult candidate;
      candidate.times = {1e-3};
      wire::JobResult result;
      result.session = lease.id.session;
      result.seq = lease.id.seq;
      result.device = device_;
      result.candidates = {candidate};
      result.phases.run = lease.job.fake ? std::max(1e-3, lease.job.fake->run_seconds) : 1e-3;
      results.results.push_back(std::move(result));
      results.leases.push_back(lease.id);
    }
    const auto count = static_cast<uint32_t>(results.leases.size());
    send(std::move(results));
    send(wire::Want{device_, count});
  }

  Shared& shared_;
  const std::string device_, name_;
  std::unique_ptr<proto::Tracker::Stub> stub_;
  std::shared_ptr<Stream> stream_;
  std::atomic<bool> welcomed_{false}, ended_{false};
};

}  // namespace

struct SimAgents::Impl {
  Shared shared;
  std::vector<std::unique_ptr<SimAgent>> agents;
  std::atomic<size_t> begun{0};
  std::atomic<bool> over{false};
  std::thread heart;

  // Spread over the period, so that the tracker gets them as from a fleet and not all at once.
  void beat() {
    for (size_t next = 0; !over;) {
      const auto began = std::chrono::steady_clock::now();
      const size_t count = begun;
      // As an AgentClient that holds nothing.
      const double period = shared.heartbeat_s * 0.7 * 4;
      const auto slice = static_cast<size_t>(static_cast<double>(count) * 0.05 / period) + 1;
      for (size_t i = 0; i < slice && count > 0; ++i) agents[next++ % count]->beat();
      std::this_thread::sleep_until(began + std::chrono::milliseconds(50));
    }
  }
};

SimAgents::SimAgents(SimOptions options, std::function<void(const wire::Lease&)> on_lease)
    : impl_(std::make_unique<Impl>()) {
  impl_->shared.options = std::move(options);
  impl_->shared.on_lease = std::move(on_lease);
  for (uint32_t i = 0; i < impl_->shared.options.agents; ++i)
    impl_->agents.push_back(std::make_unique<SimAgent>(impl_->shared, fmt::format("sim{}", i)));
  impl_->heart = std::thread([this] { impl_->beat(); });
}

SimAgents::~SimAgents() {
  impl_->over = true;
  impl_->heart.join();
  for (size_t i = 0; i < impl_->begun; ++i) impl_->agents[i]->cancel();
  for (size_t i = 0; i < impl_->begun; ++i)
    while (!impl_->agents[i]->ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

uint32_t SimAgents::connect(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const auto wait = [&](auto condition) {
    while (!condition() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  const auto tried = [&] { return impl_->shared.connected + impl_->shared.failed; };
  for (const auto& agent : impl_->agents) {
    wait([&] { return impl_->begun - tried() < impl_->shared.options.at_once; });
    if (std::chrono::steady_clock::now() >= end) break;
    agent->begin();
    ++impl_->begun;
  }
  wait([&] { return tried() >= impl_->shared.options.agents; });
  return connected();
}

uint32_t SimAgents::connected() const { return impl_->shared.connected; }
uint32_t SimAgents::lost() const { return impl_->shared.lost; }

}  // namespace hone::bench
