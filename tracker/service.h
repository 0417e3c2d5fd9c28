// The tracker on a port: gRPC streams over the plain Tracker. No gRPC type appears here.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "rpc/gate/security.h"
#include "rpc/wire/access/address.h"
#include "tracker/core.h"

namespace hone::tracker {

/// Thread-safe.
class TrackerServer {
 public:
  /// Listens on `listen` (port 0: the kernel chooses). `clock` outlives the server. InvalidArgument, one line that
  /// names the address, when it cannot be had, or the file, when `security` names one that cannot be used. Whether
  /// `listen` may be open is the caller's question.
  static StatusOr<std::unique_ptr<TrackerServer>> start(const wire::Address& listen, TrackerOptions options,
                                                        const Clock& clock, gate::Security security = {});
  /// As stop().
  ~TrackerServer();

  /// Where it listens, the port filled in.
  const wire::Address& address() const;
  wire::FleetStatus status(const gate::Viewer& viewer = {}) const;
  TrackerCounts counts() const;
  std::optional<DeviceDetail> device_detail(const std::string& key) const;
  std::optional<SessionDetail> session_detail(const std::string& id, const gate::Viewer& viewer = {}) const;
  /// As Tracker::admin().
  StatusOr<std::string> admin(const std::string& action, const std::string& name);
  /// Room for a page of that many bytes, to be held until it has been sent; null: there is none.
  std::shared_ptr<const void> room_for_page(size_t bytes);
  /// Ends all streams; agents and sessions keep their work and try to connect again. Not to be called twice at
  /// once.
  void stop();

 private:
  struct Impl;
  explicit TrackerServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone::tracker
