// A tracker that serves until it is stopped.
#pragma once

#include "tracker/cli/flags.h"

namespace hone::tracker {

/// Returns after SIGTERM, SIGINT or the parent's end; an error when it could not start.
Status serve(const ServeFlags& flags);

}  // namespace hone::tracker
