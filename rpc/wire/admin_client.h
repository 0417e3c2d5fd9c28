// Questions of people to a running tracker: one call each, with a timeout.
#pragma once

#include <chrono>
#include <string>

#include "base/status.h"
#include "rpc/wire/access/address.h"
#include "rpc/wire/access/credentials.h"
#include "rpc/wire/messages/fleet_status.h"

namespace hone::wire {

/// Unavailable (`cannot reach the tracker at HOST:PORT: connection refused`) when there is no answer within `timeout`;
/// Unauthenticated or PermissionDenied when the tracker wants other credentials.
StatusOr<FleetStatus> fetch_status(const Address& tracker, std::chrono::milliseconds timeout,
                                   const Credentials& credentials = {});

/// `action` is drain, resume or quarantine, `name` a device or an agent; of cancel a session; one line for people.
StatusOr<std::string> administer(const Address& tracker, const std::string& action, const std::string& name,
                                 std::chrono::milliseconds timeout, const Credentials& credentials = {});

}  // namespace hone::wire
