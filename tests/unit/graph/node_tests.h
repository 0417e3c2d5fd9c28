// Tools that tests of single nodes share: elements, and how results are compared.
#pragma once

#include <gmock/gmock.h>

#include <vector>

#include "compiler/ir/extents.h"
#include "tests/unit/graph/onnx_models.h"

namespace hone {

using Floats = std::vector<float>;

/// Numbers between -1 and 1 that differ.
inline Floats numbers(int64_t count, int seed) {
  Floats out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>((static_cast<int>(i) * 37 + seed * 11) % 101 - 50) / 50;
  return out;
}
inline TensorData tensor(const Extents& shape, const Floats& v) { return {{f32, shape}, floats_of(v)}; }

/// The last node is one of com.microsoft.
inline TestModel& of_microsoft(TestModel& m) {
  m.last->set_domain("com.microsoft");
  return m;
}

/// Each element is that of `wanted`, up to roundings of f32.
MATCHER_P(Near, wanted, "") {
  return testing::ExplainMatchResult(testing::Pointwise(testing::DoubleNear(2e-5), wanted), arg, result_listener);
}

}  // namespace hone
