#include "compiler/runtime/host_functions/host_functions.h"
#include "compiler/runtime/include/hone_runtime.h"

__attribute__((weak)) int32_t hone_internal_scatter(const int64_t* numbers, void* const* tensors, void* workspace) {
  const int64_t n = numbers[0], size = numbers[1], bytes = numbers[2];
  const uint8_t* x = tensors[0];
  const int64_t* positions = tensors[1];
  uint8_t* y = tensors[2];
  (void)workspace;
  for (int64_t i = 0; i < size * bytes; ++i) y[i] = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (positions[i] < 0 || positions[i] >= size) return HONE_NO_RESULT;
    for (int64_t b = 0; b < bytes; ++b) y[positions[i] * bytes + b] = x[i * bytes + b];
  }
  return HONE_OK;
}
