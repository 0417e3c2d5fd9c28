// Where a session measures: on a tracker's fleet, or on this machine by a tracker and an agent of its own.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "compiler/target/target.h"
#include "rpc/wire/session_client.h"
#include "tuner/driver/tune_request.h"
#include "tuner/measure/embedded.h"

namespace hone {

/// The measurer of the session, and the target of its candidates.
struct Place {
  std::unique_ptr<Embedded> own;  ///< null on a fleet
  wire::ClientOptions client;
  Target target;
  std::string device_target;  ///< as the devices registered the target
  std::string device_key;     ///< of the first of these
  size_t devices = 1;         ///< of that target
};

/// Starts a tracker and an agent where the flags name none, and waits for a device of --target. UserError for a wrong
/// target.
StatusOr<Place> find_place(const TuneRequest& f);

}  // namespace hone
