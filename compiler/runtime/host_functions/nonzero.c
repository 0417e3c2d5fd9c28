#include "compiler/runtime/host_functions/host_functions.h"

__attribute__((weak)) int32_t hone_internal_nonzero(const int64_t* numbers, void* const* tensors, void* workspace) {
  const int64_t n = numbers[0];
  const uint8_t* x = tensors[0];
  int64_t *positions = tensors[1], count = 0;
  (void)workspace;
  /* Without a branch: what is no position is written over. */
  for (int64_t i = 0; i < n; ++i) {
    positions[count] = i;
    count += x[i] != 0;
  }
  for (int64_t i = count; i < n; ++i) positions[i] = 0;
  *(int64_t*)tensors[2] = count;
  return 0;
}
