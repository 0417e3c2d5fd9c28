#include "rpc/wire/agent_client.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "rpc/wire/access/key_proof.h"
#include "rpc/wire/clock_difference.h"
#include "rpc/wire/connection.h"

namespace hone::wire {
namespace {

constexpr size_t kResultsPerMessage = 64;
constexpr int kIdleBeats = 4;

// One call of request_blobs(): complete when no hash remains.
struct BlobWait {
  std::unordered_set<Hash128> remaining;
  AgentClient::BlobReply reply;
};

}  // namespace

/// All members but the atomics belong to the loop's thread.
struct AgentClient::Impl {
  AgentIdentity identity;
  AgentHandlers handlers;
  std::unordered_map<LeaseId, std::string> held;  // and its device
  std::map<LeaseId, JobResult> results;           // not acknowledged
  std::map<std::string, uint32_t> credits;        // wanted and not yet used up
  std::vector<DeviceHealth> health;
  std::vector<std::string> drained;  // devices, by hand
  GiveBack unsent_give_back;
  std::vector<std::shared_ptr<BlobWait>> blob_waits;
  EventLoop::TimerId heartbeat_timer = 0;
  int idle_beats = 0;
  std::atomic<size_t> held_count{0}, unacked_count{0};
  Connection<proto::AgentToTracker, proto::TrackerToAgent> connection;

  Impl(ClientOptions options, AgentIdentity i, AgentHandlers h)
      : identity(std::move(i)),
        handlers(std::move(h)),
        connection(std::move(options),
                   {.call = [](auto& stub, auto* context, auto* reactor) { stub.async()->Agent(context, reactor); },
                    .hello = [this](proto::AgentToTracker* out) { to_wire(FromAgent(hello()), out); },
                    .message = [this](proto::TrackerToAgent&& in) { on_message(std::move(in)); },
                    .lost = [this] { on_lost(); },
                    .denied =
                        [this](const std::string& reason, bool retry) {
                          if (handlers.on_refused) handlers.on_refused(reason, retry);
                        },
                    .unreachable =
                        [this](const std::string& why) {
                          if (handlers.on_unreachable) handlers.on_unreachable(why);
                        }}) {
    connection.start();
  }

  void send(FromAgent message) { connection.send(std::move(message)); }
  void count() { held_count = held.size(), unacked_count = results.size(); }

  AgentHello hello() {
    AgentHello hello;
    hello.name = identity.name;
    hello.instance = identity.instance;
    hello.devices = identity.devices;
    for (const auto& [id, device] : held) hello.held.push_back(id), hello.held_devices.push_back(device);
    for (const auto& [id, result] : results) hello.held.push_back(id), hello.held_devices.push_back(result.device);
    hello.unacked_results = static_cast<uint32_t>(results.size());
    hello.drained = drained;
    return hello;
  }

  void on_lost() {
    connection.loop().cancel(heartbeat_timer);
    if (handlers.on_connection) handlers.on_connection(false);
  }

  void on_message(proto::TrackerToAgent&& in) {
    auto message = from_wire(std::move(in));
    if (!message.ok()) return log::warn("from the tracker: {}", message_of(message.status()));
    std::visit([this](auto& m) { on(m); }, *message);
  }

  void on(AgentWelcome& welcome) {
    connection.opened();
    if (handlers.on_connection) handlers.on_connection(true);
    compare_clocks(welcome.now);
    if (identity.key && !welcome.challenge.empty())
      for (const DeviceInfo& device : identity.devices)
        if (device.labels.contains(std::string(kBuilderKeyLabel)))
          send(prove_key(*identity.key, welcome.challenge, device.key));
    drop(welcome.forget);
    if (!unsent_give_back.leases.empty()) send(std::exchange(unsent_give_back, {}));
    AgentResults again;
    for (const auto& [id, result] : results) {
      again.leases.push_back(id);
      again.results.push_back(result);
      if (again.leases.size() == kResultsPerMessage) send(std::exchange(again, {}));
    }
    if (!again.leases.empty()) send(std::move(again));
    for (const auto& [device, slots] : credits)
      if (slots > 0) send(Want{device, slots});
    for (const auto& wait : blob_waits) send(BlobRequest{{wait->remaining.begin(), wait->remaining.end()}});
    const auto period =
        std::chrono::milliseconds(static_cast<int64_t>(std::max(0.02, welcome.heartbeat_s * 0.7) * 1000));
    heartbeat(period);
  }

  // An agent without leases has none to extend: it sends heartbeats seldom.
  void heartbeat(std::chrono::milliseconds period) {
    heartbeat_timer = connection.loop().after(period, [this, period] {
      if (!held.empty() || ++idle_beats >= kIdleBeats) {
        Heartbeat beat;
        for (const auto& [id, device] : held) beat.working.push_back(id);
        beat.health = health;
        send(std::move(beat));
        idle_beats = 0;
      }
      heartbeat(period);
    });
  }

  void on(Leases& leases) {
    std::vector<Lease> fresh;
    for (Lease& lease : leases.leases) {
      uint32_t& credit = credits[lease.device];
      if (credit > 0) --credit;
      if (!results.contains(lease.id) && held.emplace(lease.id, lease.device).second) fresh.push_back(std::move(lease));
    }
    count();
    if (!fresh.empty() && handlers.on_leases) handlers.on_leases(std::move(fresh));
  }

  void on(ResultAck& ack) {
    for (const LeaseId& id : ack.leases) results.erase(id);
    count();
  }

  void on(Cancel& cancel) { drop(cancel.leases); }

  void drop(const std::vector<LeaseId>& leases) {
    std::vector<LeaseId> stopped;
    for (const LeaseId& id : leases) {
      results.erase(id);
      if (held.erase(id) > 0) stopped.push_back(id);
    }
    count();
    if (!stopped.empty() && handlers.on_cancel) handlers.on_cancel(std::move(stopped));
  }

  void on(TakeBack& take_back) {
    std::erase_if(take_back.leases, [this](const LeaseId& id) { return !held.contains(id); });
    if (!take_back.leases.empty() && handlers.on_take_back) handlers.on_take_back(std::move(take_back.leases));
  }

  void on(Drained& now) {
    if (now.devices == drained) return;
    drained = std::move(now.devices);
    if (handlers.on_drained) handlers.on_drained(drained);
  }

  void on(Refused& refused) {
    connection.refused(refused.reason, refused.retry);
    if (handlers.on_refused) handlers.on_refused(refused.reason, refused.retry);
  }

  void on(Blobs& blobs) {
    const std::vector<std::shared_ptr<BlobWait>> asked = blob_waits;  // a reply may ask for more
    std::vector<std::pair<std::vector<Blob>, std::vector<Hash128>>> parts(asked.size());
    for (size_t i = 0; i < asked.size(); ++i) {
      for (const Blob& blob : blobs.blobs)
        if (asked[i]->remaining.erase(blob.hash) > 0) parts[i].first.push_back(blob);
      for (const Hash128& hash : blobs.missing)
        if (asked[i]->remaining.erase(hash) > 0) parts[i].second.push_back(hash);
    }
    std::erase_if(blob_waits, [](const std::shared_ptr<BlobWait>& wait) { return wait->remaining.empty(); });
    for (size_t i = 0; i < asked.size(); ++i)
      if (auto& [found, missing] = parts[i]; !found.empty() || !missing.empty())
        asked[i]->reply(std::move(found), std::move(missing));
  }

  void result(const LeaseId& lease, JobResult result) {
    const auto it = held.find(lease);
    if (it == held.end()) return;  // cancelled meanwhile
    result.device = it->second;
    held.erase(it);
    result.session = lease.session;
    result.seq = lease.seq;
    send(AgentResults{{result}, {lease}});
    results.emplace(lease, std::move(result));
    count();
  }

  void give_back(std::vector<LeaseId> leases, std::string reason) {
    std::erase_if(leases, [this](const LeaseId& id) { return held.erase(id) == 0; });
    count();
    if (leases.empty()) return;
    if (connection.is_open()) return send(GiveBack{std::move(leases), std::move(reason)});
    unsent_give_back.leases.insert(unsent_give_back.leases.end(), leases.begin(), leases.end());
    unsent_give_back.reason = std::move(reason);
  }

  void request_blobs(const std::vector<Hash128>& hashes, BlobReply reply) {
    auto wait = std::make_shared<BlobWait>();
    wait->remaining.insert(hashes.begin(), hashes.end());
    wait->reply = std::move(reply);
    if (wait->remaining.empty()) return;
    blob_waits.push_back(wait);
    send(BlobRequest{{wait->remaining.begin(), wait->remaining.end()}});
  }
};

AgentClient::AgentClient(ClientOptions options, AgentIdentity identity, AgentHandlers handlers)
    : impl_(std::make_shared<Impl>(std::move(options), std::move(identity), std::move(handlers))) {}

AgentClient::~AgentClient() {
  impl_->connection.shutdown([] {});
}

Status AgentClient::wait_open(std::chrono::milliseconds timeout) { return impl_->connection.wait_open(timeout); }

void AgentClient::want(const std::string& device, uint32_t slots) {
  if (slots == 0) return;
  impl_->connection.loop().post([impl = impl_.get(), device, slots] {
    impl->credits[device] += slots;
    impl->send(Want{device, slots});
  });
}

void AgentClient::result(const LeaseId& lease, JobResult result) {
  impl_->connection.loop().post(
      [impl = impl_.get(), lease, result = std::move(result)]() mutable { impl->result(lease, std::move(result)); });
}

void AgentClient::give_back(std::vector<LeaseId> leases, std::string reason) {
  impl_->connection.loop().post([impl = impl_.get(), leases = std::move(leases), reason = std::move(reason)]() mutable {
    impl->give_back(std::move(leases), std::move(reason));
  });
}

void AgentClient::request_blobs(std::vector<Hash128> hashes, BlobReply reply) {
  impl_->connection.loop().post([impl = impl_.get(), hashes = std::move(hashes), reply = std::move(reply)]() mutable {
    impl->request_blobs(hashes, std::move(reply));
  });
}

void AgentClient::health(std::vector<DeviceHealth> readings) {
  impl_->connection.loop().post(
      [impl = impl_.get(), readings = std::move(readings)]() mutable { impl->health = std::move(readings); });
}

bool AgentClient::connected() const { return impl_->connection.is_open(); }
size_t AgentClient::held() const { return impl_->held_count; }
size_t AgentClient::unacked() const { return impl_->unacked_count; }

}  // namespace hone::wire
