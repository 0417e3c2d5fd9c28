// Outputs of a program, as its caller sees them.
#pragma once

#include <vector>

#include "compiler/ir/module.h"

namespace hone {

/// Appends the row-major elements of parameter `p`, which lies at `physical` in its layout.
inline void append_logical(const void* physical, const Param& p, std::vector<char>* out) {
  const size_t at = out->size();
  out->resize(at + static_cast<size_t>(element_count(p.shape) * p.dtype.bytes()));
  unpack(physical, out->data() + at, p.shape, p.layout, p.dtype.bytes());
}

}  // namespace hone
