// The parts of a tracker that its classes are tested with, one by one.
#pragma once

#include "tests/fakes/fake_fleet.h"
#include "tracker/connections.h"

namespace hone::tracker {

struct TrackerParts {
  TrackerOptions options;
  FakeClock clock;
  MemoryBudget memory{64 << 20, 64 << 20};
  JobBook book{options, clock, memory};
  DeviceRegistry registry{clock};
  Recorder recorder;
  Outgoing out{recorder, connections_of(registry, book)};

  /// A new session of that connection.
  Session& open(ConnectionId connection) {
    wire::SessionOpen spec;
    spec.session = wire::Uuid::random();
    return book.open(spec, connection, {}, std::get<JobBook::Admitted>(book.admit(spec, {})));
  }
};

}  // namespace hone::tracker
