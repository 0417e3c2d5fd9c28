// The texts that the HTTP port shows: no HTTP here.
#pragma once

#include <string>

#include "rpc/wire/messages/fleet_status.h"
#include "tracker/core.h"

namespace hone::tracker {

/// Prometheus' text format.
std::string metrics_page(const wire::FleetStatus& status, const TrackerCounts& counts);
/// The status as one JSON object; `tracker status --json` prints the same.
std::string state_json(const wire::FleetStatus& status);
/// The facts that a newcomer's commands need.
struct About {
  std::string listen;                                             ///< where agents and tuners dial
  bool tls = false, client_certificates = false, tokens = false;  ///< their needs for it
};
std::string about_json(const About& about);
/// The pages of one device and of one session.
std::string device_detail_json(const DeviceDetail& detail);
std::string session_detail_json(const SessionDetail& detail);

struct TextStyle {
  bool colour = false;
  size_t width = 0;  ///< columns to cut long lines at; 0: they are not cut
};
/// For people, on a terminal: devices, sessions, results. Nothing in it can command the terminal.
std::string state_text(const wire::FleetStatus& status, const TextStyle& style = {});

}  // namespace hone::tracker
