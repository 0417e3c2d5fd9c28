// Constants that passes make. Private to them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "compiler/graph/tensor_data.h"

namespace hone {

/// Elements as they lie in memory: floats for f32, int8_t for s8.
template <class T>
TensorData tensor_of(TensorType type, const std::vector<T>& elements) {
  return {std::move(type), std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T))};
}

/// f32 or f64 of these numbers.
inline TensorData floats_of(const TensorType& type, const std::vector<double>& values) {
  HONE_ICHECK(type.dtype == f32 || type.dtype == f64) << to_string(type);
  return type.dtype == f64 ? tensor_of(type, values)
                           : tensor_of(type, std::vector<float>(values.begin(), values.end()));
}

}  // namespace hone
