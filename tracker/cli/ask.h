// Questions of people to a running tracker.
#pragma once

#include "tracker/cli/flags.h"

namespace hone::tracker {

/// Prints devices, queues and sessions.
Status show_status(const AskFlags& flags);
/// `action`: drain, resume, quarantine or cancel.
Status administer(const AskFlags& flags, const std::string& action);

}  // namespace hone::tracker
