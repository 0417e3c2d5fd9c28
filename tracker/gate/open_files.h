// The process's limit on open files, which every connection counts against.
#pragma once

#include <cstddef>

#include "base/status.h"

namespace hone::tracker {

/// Raises the limit as far as it may be. How many connections then fit besides what else the tracker opens, `wanted` at
/// most.
size_t connections_that_fit(size_t wanted);

}  // namespace hone::tracker
