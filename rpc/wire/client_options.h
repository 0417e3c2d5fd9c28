// What both clients of the tracker need to know to reach it.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "rpc/wire/address.h"
#include "rpc/wire/credentials.h"
#include "rpc/wire/retry.h"

namespace hone::wire {

struct ClientOptions {
  Address tracker;
  BackoffOptions backoff;
  uint64_t seed = 1;             ///< seed of the backoff's jitter; each process needs its own
  const Clock* clock = nullptr;  ///< null: the steady clock; otherwise it outlives the client
  Credentials credentials = {};
};

}  // namespace hone::wire
