// Shapes and other lists of extents.
#pragma once

#include <cstdint>
#include <vector>

namespace hone {

/// One number for each axis: how many elements it has, or in which order the axes are.
using Extents = std::vector<int64_t>;

}  // namespace hone
