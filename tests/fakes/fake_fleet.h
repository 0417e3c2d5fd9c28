// Drives a Tracker without gRPC: a recording outbox and a few words for messages of agents and sessions.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "base/log.h"
#include "tests/fakes/fake_clock.h"
#include "tracker/core.h"

namespace hone::tracker {

/// The tuner's session that a test speaks for.
inline const wire::Uuid kSession = wire::Uuid::random();

/// Keeps the tracker's messages, by connection.
class Recorder final : public Outbox {
 public:
  void to_agent(ConnectionId connection, wire::ToAgent message) override {
    agents[connection].push_back(std::move(message));
  }
  void to_session(ConnectionId connection, wire::ToSession message) override {
    sessions[connection].push_back(std::move(message));
  }

  std::map<ConnectionId, std::deque<wire::ToAgent>> agents;
  std::map<ConnectionId, std::deque<wire::ToSession>> sessions;
};

class FakeFleet {
 public:
  explicit FakeFleet(TrackerOptions options = {}) : options_(options) {
    options_.allow_fake = true;
    spdlog::set_level(spdlog::level::err);  // a tracker warns of faults that are meant
    restart();
  }

  /// The tracker forgets everything; all connections are over.
  void restart() {
    options_.first_epoch += 1'000'000;
    tracker = std::make_unique<Tracker>(options_, clock, out);
  }

  static wire::DeviceInfo device(const std::string& key, const std::string& target = "llvm -mcpu=test") {
    wire::DeviceInfo info;
    info.key = key;
    info.target = target;
    return info;
  }

  wire::AgentHello hello(const std::string& name, const wire::Uuid& instance = wire::Uuid::random()) {
    wire::AgentHello hello;
    hello.name = name;
    hello.instance = instance;
    hello.devices = {device(name + "/cpu")};
    return hello;
  }

  ConnectionId connect(wire::AgentHello hello) {
    const ConnectionId id = next_++;
    tracker->agent_message(id, std::move(hello));
    return id;
  }
  /// An agent with one CPU, NAME/cpu, that wants `slots` leases.
  ConnectionId agent(const std::string& name, uint32_t slots = 0) {
    const ConnectionId id = connect(hello(name));
    if (slots > 0) want(id, name, slots);
    return id;
  }
  void want(ConnectionId id, const std::string& name, uint32_t slots) {
    tracker->agent_message(id, wire::Want{name + "/cpu", slots});
  }

  ConnectionId open(const wire::Uuid& uuid, double weight = 1) {
    wire::SessionOpen open;
    open.session = uuid;
    open.target_kind = "llvm";
    open.weight = weight;
    return open_as(open);
  }
  ConnectionId open_as(const wire::SessionOpen& open) {
    const ConnectionId id = next_++;
    tracker->session_message(id, open);
    return id;
  }

  static wire::Job job(uint64_t seq) {
    wire::Job job;
    job.seq = seq;
    job.fake = wire::FakePayload{};
    return job;
  }
  void submit(ConnectionId session, uint64_t first, uint64_t count = 1) {
    wire::Submit submit;
    for (uint64_t seq = first; seq < first + count; ++seq) submit.jobs.push_back(job(seq));
    tracker->session_message(session, std::move(submit));
  }

  static wire::JobResult result(const wire::LeaseId& id, const std::string& device,
                                wire::ResultStatus status = wire::ResultStatus::kOk, double run = 0.1) {
    wire::CandidateResult candidate;
    candidate.status = status;
    candidate.times = {1e-3};
    wire::JobResult result;
    result.session = id.session;
    result.seq = id.seq;
    result.device = device;
    result.candidates = {candidate};
    result.phases.run = run;
    return result;
  }
  void finish(ConnectionId agent, const wire::Lease& lease, wire::ResultStatus status = wire::ResultStatus::kOk,
              double run = 0.1) {
    tracker->agent_message(agent, wire::AgentResults{{result(lease.id, lease.device, status, run)}, {lease.id}});
  }

  /// Takes the leases that this connection was sent, and drops its other messages.
  std::vector<wire::Lease> leases(ConnectionId agent) {
    std::vector<wire::Lease> all;
    for (const wire::Leases& message : take_agent<wire::Leases>(agent))
      all.insert(all.end(), message.leases.begin(), message.leases.end());
    return all;
  }
  std::vector<wire::JobResult> results(ConnectionId session) {
    std::vector<wire::JobResult> all;
    for (const wire::SessionResults& message : take_session<wire::SessionResults>(session))
      all.insert(all.end(), message.results.begin(), message.results.end());
    return all;
  }
  /// Takes all messages of one kind, in order; the others stay.
  template <class T>
  std::vector<T> take_agent(ConnectionId id) {
    return take<T>(out.agents[id]);
  }
  template <class T>
  std::vector<T> take_session(ConnectionId id) {
    return take<T>(out.sessions[id]);
  }
  template <class T>
  std::vector<wire::LeaseId> ids(ConnectionId agent) {
    std::vector<wire::LeaseId> all;
    for (const T& message : take_agent<T>(agent)) all.insert(all.end(), message.leases.begin(), message.leases.end());
    return all;
  }

  void pass(Clock::Duration time) {
    clock.advance(time);
    tracker->tick();
  }
  std::string state(const std::string& device) const {
    for (const wire::DeviceStatus& status : tracker->status().devices)
      if (status.info.key == device) return status.state;
    return "unknown";
  }

  FakeClock clock;
  Recorder out;
  std::unique_ptr<Tracker> tracker;

 private:
  template <class T, class Queue>
  static std::vector<T> take(Queue& queue) {
    std::vector<T> taken;
    Queue rest;
    for (auto& message : queue) {
      if (T* one = std::get_if<T>(&message))
        taken.push_back(std::move(*one));
      else
        rest.push_back(std::move(message));
    }
    queue = std::move(rest);
    return taken;
  }

  TrackerOptions options_;
  ConnectionId next_ = 1;
};

}  // namespace hone::tracker
