// Floats of any type, element by element.
#pragma once

#include <cstring>

#include "base/narrow_floats.h"
#include "compiler/ir/dtype.h"

namespace hone {

/// Rounds `v` to `t`, a float type, and stores it at `at`, which need not be aligned.
inline void store_float(char* at, DType t, double v) {
  const auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
  if (t == f64)
    put(v);
  else if (t == f32)
    put(static_cast<float>(v));
  else
    put(t == f16 ? f16_of_float(static_cast<float>(v)) : bf16_of_float(static_cast<float>(v)));
}

}  // namespace hone
