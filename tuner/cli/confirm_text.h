// Configs from elsewhere, beside the defaults of this machine, as text.
#pragma once

#include <string>

#include "base/json.h"
#include "tuner/driver/confirm_known.h"

namespace hone {

/// `{"known","confirmed":[{"workload","weight","known_ms","default_ms","taken"}],"failed","left"}`.
OrderedJson json_of(const Confirmations& c);

/// A line for each workload, the dearest first, and one that counts them.
std::string to_string(const Confirmations& c);

}  // namespace hone
