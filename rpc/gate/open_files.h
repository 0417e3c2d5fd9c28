// The process's limit on open files, which every connection counts against.
#pragma once

#include <cstddef>

#include "base/status.h"

namespace hone::gate {

/// Raises the limit as far as allowed. Returns how many connections then fit beside the tracker's other files, at most
/// `wanted`.
size_t connections_that_fit(size_t wanted);

}  // namespace hone::gate
