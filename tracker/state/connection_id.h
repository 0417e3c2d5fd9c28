// A connection's number, given by the server.
#pragma once

#include <cstdint>

namespace hone::tracker {

using ConnectionId = uint64_t;  ///< never used twice

}  // namespace hone::tracker
