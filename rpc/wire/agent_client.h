// The agent's side of the tracker: one stream that survives disconnections and restarts of the tracker. It heartbeats
// for the leases held, keeps results until they are acknowledged, and announces both when it connects again.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "rpc/wire/access/signature.h"
#include "rpc/wire/client_options.h"
#include "rpc/wire/messages/messages.h"

namespace hone::wire {

/// Called on the client's own thread, one at a time; they must not block for long and may call any method but the
/// destructor. Those left empty are not called.
struct AgentHandlers {
  /// Each lease is answered with result() or give_back(), unless on_cancel names it.
  std::function<void(std::vector<Lease>)> on_leases;
  /// These leases are void (cancelled, expired, or forgotten by the tracker): stop them, send nothing. The client has
  /// dropped them, results included, before it calls this; a result that is sent nevertheless is ignored.
  std::function<void(std::vector<LeaseId>)> on_cancel;
  /// Another device is idle: give_back() the leases among these that have not been started; others need no answer.
  std::function<void(std::vector<LeaseId>)> on_take_back;
  /// The tracker refused the agent. With `retry` the client tries again by itself; without, it has given up.
  std::function<void(std::string reason, bool retry)> on_refused;
  /// People drained these devices, and no others: there are no leases for them until they are resumed. The client
  /// remembers this, and informs a tracker that does not know it.
  std::function<void(std::vector<std::string> devices)> on_drained;
  /// The tracker said welcome (true) or the stream was lost (false). Leases and results survive both.
  std::function<void(bool connected)> on_connection;
  /// There has been no connection for a while (ClientOptions::tell_after), and the client goes on trying. `why`: `name
  /// not resolved`, `connection refused`, `TLS: …`, `no answer` and the like.
  std::function<void(std::string why)> on_unreachable;
};

/// The identity of the agent.
struct AgentIdentity {
  std::string name;
  Uuid instance = Uuid::random();  ///< one per process: tells a restart from a reconnect
  std::vector<DeviceInfo> devices;
  /// Set for devices with the label builder-key: the key is proved whenever the tracker asks for it.
  std::optional<SigningKey> key = {};
};

class AgentClient {
 public:
  /// Some of the blobs asked for, as they arrive: a slow session does not delay the blobs of others. `found` were
  /// checked against their hashes; `missing` were found nowhere.
  using BlobReply = std::function<void(std::vector<Blob> found, std::vector<Hash128> missing)>;

  /// Starts to connect at once and keeps trying for ever, with backoff.
  AgentClient(ClientOptions options, AgentIdentity identity, AgentHandlers handlers);
  /// Waits (at most two seconds) until the queue has been sent, then leaves. No handler or reply runs afterwards.
  ~AgentClient();
  AgentClient(const AgentClient&) = delete;
  AgentClient& operator=(const AgentClient&) = delete;

  /// Blocks until the tracker has said welcome for the first time; errors as in SessionClient::wait_open(). Not to be
  /// called from a handler.
  Status wait_open(std::chrono::milliseconds timeout);

  // All methods below may be called from any thread and never block.

  /// `device` can take `slots` leases more than before; each lease received uses one up. Normally once at the start
  /// with the size of a batch, then one for every lease finished or given back.
  void want(const std::string& device, uint32_t slots);
  /// The lease is finished. Kept and sent again until the tracker acknowledges it. `result.session`, `seq` and `device`
  /// are filled in from the lease.
  void result(const LeaseId& lease, JobResult result);
  /// These leases were not started: the tracker may lease them to others at once. On drain, or in answer to
  /// on_take_back.
  void give_back(std::vector<LeaseId> leases, std::string reason);
  /// Asks for blobs; `reply` runs on the client's thread for each part of the answer, until every hash was found or
  /// missing. Asked again after a reconnection.
  void request_blobs(std::vector<Hash128> hashes, BlobReply reply);

  /// The latest readings of its devices: kept, and sent with each heartbeat until others come. Devices not named here
  /// are no longer reported.
  void health(std::vector<DeviceHealth> readings);

  bool connected() const;
  /// Leases that were received and neither answered nor cancelled.
  size_t held() const;
  /// Results that the tracker has not acknowledged.
  size_t unacked() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace hone::wire
