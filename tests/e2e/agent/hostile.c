/* C[i] = A[i] + B[i] over 1,000 floats, and then something it must not do: CASE_... says what. */
#include <stdlib.h>

#include "compiler/runtime/hone_runtime.h"

enum { kElements = 1000 };

int32_t kernel(const DLTensor* const* args, int32_t n, void* workspace, const HoneRuntime* rt) {
  (void)workspace;
  (void)rt;
  if (n != 3) return HONE_BAD_ARGUMENTS;
  float *a = args[0]->data, *b = args[1]->data, *c = args[2]->data;
  int count = kElements;
#ifdef CASE_unwritten
  count = kElements - 1;
#endif
  for (int i = 0; i < count; ++i) c[i] = a[i] + b[i];
#ifdef CASE_null_store
  volatile float* volatile nowhere = (volatile float*)8;
  *nowhere = 1;
#elif defined(CASE_overrun)
  for (int i = kElements; i < kElements + 64; ++i) ((volatile float*)c)[i] = 1;
#elif defined(CASE_fence_store)
  ((volatile float*)c)[kElements] = 1;
#elif defined(CASE_input_store)
  ((volatile float*)a)[0] = 1;
#elif defined(CASE_spin)
  for (volatile int i = 0;; i = i + 1) {
  }
#elif defined(CASE_leave)
  exit(0);
#elif defined(CASE_fault)
  return HONE_FAULT;
#elif defined(CASE_refuse)
  return HONE_BAD_ARGUMENTS;
#elif defined(CASE_wrong_tail)
  c[kElements - 1] += 1e-3f;
#endif
  return HONE_OK;
}
