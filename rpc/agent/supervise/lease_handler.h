// The worker for the leases of one device: Supervisor measures, BuildService builds for boards. On the io_context's
// thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rpc/wire/messages/messages.h"

namespace hone::agent {

/// The way to the tracker (wire::AgentClient). `blobs`' reply may come on any thread, in parts.
struct TrackerLink {
  using BlobReply = std::function<void(std::vector<wire::Blob> found, std::vector<Hash128> missing)>;
  std::function<void(uint32_t slots)> want;
  std::function<void(const wire::LeaseId&, wire::JobResult)> result;
  std::function<void(std::vector<wire::LeaseId>, std::string reason)> give_back;
  std::function<void(std::vector<Hash128>, BlobReply)> request_blobs;
};

class LeaseHandler {
 public:
  virtual ~LeaseHandler() = default;

  /// Begins to ask for leases.
  virtual void start() = 0;
  virtual void on_leases(std::vector<wire::Lease> leases) = 0;
  virtual void on_cancel(const std::vector<wire::LeaseId>& ids) = 0;
  /// Gives back the leases that have not been started.
  virtual void on_take_back(const std::vector<wire::LeaseId>& ids) = 0;
  /// Gives back the leases that have not been started, finishes the others, then calls `done`.
  virtual void drain(std::function<void()> done) = 0;
};

}  // namespace hone::agent
