// Finds out why a tracker's certificate is not accepted: gRPC says only that it is not.
#pragma once

#include <chrono>
#include <string>

#include "rpc/wire/access/address.h"
#include "rpc/wire/access/certificate_dates.h"

namespace hone::wire {

/// Makes one TLS handshake with `tracker`, sends nothing, and says how its certificate, or a CA's above it, fails at
/// the date `now`: `its certificate (of 'tracker') expired on …`. Empty when it is valid, when no certificate of `ca`
/// (PEM) has signed it, and when there was no handshake within `timeout`. Blocks at most that long, plus the lookup of
/// the name.
std::string date_problem(const Address& tracker, const std::string& ca, UnixSeconds now,
                         std::chrono::milliseconds timeout);

}  // namespace hone::wire
