// When the tracker's certificates end: said in the log from 30 days before, and in numbers for the metrics.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "rpc/gate/server_tls.h"
#include "rpc/wire/access/certificate_dates.h"

namespace hone::gate {

/// look() belongs to one thread, ends() to any.
class CertificateWatch {
 public:
  using Sink = std::function<void(const std::string& line)>;

  /// `clock` outlives it and says when to look; `today` says what day it is. Without `sink` lines go to the log as
  /// warnings.
  CertificateWatch(ServerTls files, const Clock& clock, std::function<wire::UnixSeconds()> today = &wire::wall_clock,
                   Sink sink = nullptr);

  /// Reads the files, at most once a minute: they may have been renewed. A file that cannot be read changes
  /// nothing.
  void look();
  /// By `server` and, where clients' certificates are asked for, `client_ca`: when the first certificate of the file
  /// ends.
  std::map<std::string, wire::UnixSeconds> ends() const;

 private:
  const ServerTls files_;
  const Clock& clock_;
  const std::function<wire::UnixSeconds()> today_;
  const Sink sink_;
  wire::CertificateReminder reminder_;
  std::optional<Clock::TimePoint> looked_;
  std::map<std::string, std::vector<wire::NamedCertificate>> known_;  // by the name in ends()
  mutable std::mutex mutex_;                                          // guards the members below
  std::map<std::string, wire::UnixSeconds> ends_;
};

}  // namespace hone::gate
