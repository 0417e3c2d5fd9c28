// Why a tracker's certificate is not accepted: gRPC says that it is not, and no more.
#pragma once

#include <chrono>
#include <string>

#include "rpc/wire/address.h"
#include "rpc/wire/certificate_dates.h"

namespace hone::wire {

/// Shakes hands with `tracker` once, sends nothing, and says what its certificate, or a CA's above it, has to do with
/// the date `now`: `its certificate (of 'tracker') expired on …`. Empty when it is valid, when no certificate of `ca`
/// (PEM) has signed it, and when nobody shook hands within `timeout`. Blocks for so long at most, and while the name is
/// looked up.
std::string date_problem(const Address& tracker, const std::string& ca, UnixSeconds now,
                         std::chrono::milliseconds timeout);

}  // namespace hone::wire
