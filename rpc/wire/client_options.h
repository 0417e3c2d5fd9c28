// How both clients of the tracker reach it.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"
#include "rpc/wire/access/address.h"
#include "rpc/wire/access/credentials.h"
#include "rpc/wire/retry.h"

namespace hone::wire {

struct ClientOptions {
  Address tracker;
  BackoffOptions backoff;
  uint64_t seed = 1;             ///< seed of the backoff's jitter; each process needs its own
  const Clock* clock = nullptr;  ///< null: the steady clock; otherwise it outlives the client
  Credentials credentials = {};
  /// AgentHandlers::on_unreachable is called when there has been no connection for `tell_after`, and then each
  /// `tell_again`.
  std::chrono::milliseconds tell_after{3'000}, tell_again{60'000};
};

}  // namespace hone::wire
