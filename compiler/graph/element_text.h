// Elements of constants as text, exactly. Private to graphs' texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/graph/tensor_data.h"

namespace hone {

/// All elements, `[1, 2.5, inf]`: floats in the shortest form that is read as the same bits; a NaN with other bits than
/// usual as those, `0x7fc00001`.
std::string elements_text(const TensorData& data);

/// Appends the element that `word` says. False, and nothing changed, where it is no number or the type does not hold
/// it.
bool append_element(std::string_view word, DType type, std::string* bytes);

/// `count` made-up elements, the same for the same seed on every machine: floats are small multiples of 1/64, whole
/// numbers are small.
std::string filled_elements(DType type, int64_t count, uint64_t seed);

}  // namespace hone
