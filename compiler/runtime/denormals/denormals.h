/* A thread's floating-point mode, and the part of it that takes denormal numbers for zeros. C and C++; artifacts in C
   bring this text. */
#ifndef HONE_DENORMALS_H
#define HONE_DENORMALS_H

#include "compiler/runtime/include/hone_runtime.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* All of the calling thread's mode; 0 where the processor is another one. */
static inline uint64_t hone_internal_float_mode(void) {
#if defined(__x86_64__)
  return _mm_getcsr();
#elif defined(__aarch64__)
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
#else
  return 0;
#endif
}

static inline void hone_internal_set_float_mode(uint64_t mode) {
#if defined(__x86_64__)
  _mm_setcsr((uint32_t)mode);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
  (void)mode;
#endif
}

/* From now on denormals of f32 and f64 are zeros on this thread, as operands and as results; returns the mode before,
   which is to be set again. */
static inline uint64_t hone_internal_zero_denormals(void) {
  const uint64_t before = hone_internal_float_mode();
#if defined(__x86_64__)
  hone_internal_set_float_mode(before | 0x8040); /* flush-to-zero and denormals-are-zeros */
#else
  hone_internal_set_float_mode(before | UINT64_C(1) << 24); /* FZ */
#endif
  return before;
}

#endif
