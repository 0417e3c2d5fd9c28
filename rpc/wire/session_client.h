// The tuner's side of the tracker: one stream that survives disconnections and restarts of the tracker.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "rpc/wire/client_options.h"
#include "rpc/wire/messages/messages.h"

namespace hone::wire {

/// Called on the client's own thread, one at a time; they must not block for long and may call any method but the
/// destructor. Those left empty are not called.
struct SessionHandlers {
  /// Each submitted job is answered here exactly once, even after reconnections, restarts and repeated messages. Call
  /// ack() once the result is committed.
  std::function<void(std::vector<JobResult>)> on_results;
  /// The devices that match now: after every (re)connection and at each change. Empty: none serves the target (yet).
  std::function<void(std::vector<DeviceInfo>)> on_devices;
  /// The tracker refused the session. With `retry` the client tries again by itself; without, it has given up.
  std::function<void(std::string reason, bool retry)> on_refused;
  /// The stream is open (true) or was lost (false). Jobs survive both; for the live line.
  std::function<void(bool connected)> on_connection;
  /// The bytes whose blob_id() is the argument, for jobs submitted and not yet acknowledged; nothing when unknown.
  std::function<std::optional<std::string>(Hash128)> blob;
};

class SessionClient {
 public:
  /// Starts to connect at once and keeps trying for ever, with backoff.
  SessionClient(ClientOptions options, SessionOpen open, SessionHandlers handlers);
  /// As close(), then waits (at most two seconds) until the tracker has been told. No handler runs afterwards.
  ~SessionClient();
  SessionClient(const SessionClient&) = delete;
  SessionClient& operator=(const SessionClient&) = delete;

  /// Blocks until the tracker has opened the session for the first time. Otherwise one line: `cannot reach the tracker
  /// at HOST:PORT: …` after `timeout`, or what the tracker said when it refused for good. Not to be called from a
  /// handler.
  Status wait_open(std::chrono::milliseconds timeout);

  // All methods below may be called from any thread and never block. They hold across reconnections: unanswered jobs
  // are submitted again, and the tracker recognises them by (session, seq).

  /// Jobs beyond the tracker's window are held back here until others were acknowledged. Seqs must be new.
  void submit(std::vector<Job> jobs);
  /// These results are committed: tracker and agent may forget them, and their blobs are not asked for any more.
  void ack(std::vector<uint64_t> seqs);
  /// The jobs come back with status cancelled, unless their result was already on the way. Empty: all.
  void cancel(std::vector<uint64_t> seqs);
  void summary(Summary summary);
  /// Tells the tracker that the session is over: it drops the session's jobs at once.
  void close(std::string reason);

  bool connected() const;
  /// Submitted and not yet acknowledged.
  size_t outstanding() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace hone::wire
