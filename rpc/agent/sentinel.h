// A fixed piece of work timed around every batch: when it takes longer than before, the machine changed, not the candidates.
#pragma once

#include "base/clock.h"

namespace hone::agent {

/// Seconds that one call of the sentinel takes now: the median of a few calls of about 0.3 ms each.
double time_sentinel(const Clock& clock);

}  // namespace hone::agent
