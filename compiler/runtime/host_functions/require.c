#include "compiler/runtime/host_functions/host_functions.h"
#include "compiler/runtime/include/hone_runtime.h"

__attribute__((weak)) int32_t hone_internal_require(const int64_t* numbers, void* const* tensors, void* workspace) {
  const uint8_t *x = tensors[0], *condition = tensors[1];
  uint8_t* y = tensors[2];
  (void)workspace;
  if (!*condition) return HONE_NO_RESULT;
  for (int64_t i = 0; i < numbers[0]; ++i) y[i] = x[i];
  return HONE_OK;
}
