// The connections of agents and sessions, for messages to them.
#pragma once

#include "tracker/fleet/device_registry.h"
#include "tracker/jobs/job_book.h"
#include "tracker/state/outgoing.h"

namespace hone::tracker {

/// Both outlive the result.
inline Connections connections_of(const DeviceRegistry& registry, const JobBook& book) {
  return {[&registry](const std::string& name) {
            const auto agent = registry.agents().find(name);
            return agent != registry.agents().end() ? agent->second.connection : std::nullopt;
          },
          [&book](const wire::Uuid& uuid) {
            const Session* session = book.find(uuid);
            return session ? session->connection : std::nullopt;
          }};
}

}  // namespace hone::tracker
