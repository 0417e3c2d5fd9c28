// Elements of inputs: both sides read the same.
#pragma once

#include <optional>
#include <string>

#include "compiler/ops/infer.h"
#include "tests/bench/models/model_list.h"

namespace hone::bench {

/// The bytes of a row-major tensor, the same for the same `seed`, uniform in `range`; without one floats are in
/// [-1, 1], bytes take all values, wider whole numbers, which are ids more often than not, are 0 to 99.
std::string fill(const TensorType& type, std::optional<Range> range, uint64_t seed);

}  // namespace hone::bench
