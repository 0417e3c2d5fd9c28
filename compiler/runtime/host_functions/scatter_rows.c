#include "compiler/runtime/host_functions/host_functions.h"
#include "compiler/runtime/host_functions/order.h"
#include "compiler/runtime/include/hone_runtime.h"

/* y[e] = E of a, the element there, and b, the update's, for each element of a row. */
#define HONE_ROW(T, E)                        \
  do {                                        \
    T* y = (T*)out + position * row;          \
    const T* u = (const T*)updates + i * row; \
    for (int64_t e = 0; e < row; ++e) {       \
      const T a = y[e], b = u[e];             \
      (void)a;                                \
      y[e] = (T)(E);                          \
    }                                         \
  } while (0)

/* Sums and products of whole numbers wrap around: U is T without sign. A maximum or minimum with a NaN is NaN. */
#define HONE_COMBINE(T, U)                  \
  do {                                      \
    if (reduction == HONE_SCATTER_ADD)      \
      HONE_ROW(T, (U)a + (U)b);             \
    else if (reduction == HONE_SCATTER_MUL) \
      HONE_ROW(T, (U)a*(U)b);               \
    else if (reduction == HONE_SCATTER_MAX) \
      HONE_ROW(T, a > b || a != a ? a : b); \
    else                                    \
      HONE_ROW(T, a < b || a != a ? a : b); \
  } while (0)

__attribute__((weak)) int32_t hone_internal_scatter_rows(const int64_t* numbers, void* const* tensors,
                                                         void* workspace) {
  const int64_t n = numbers[0], rows = numbers[1], row = numbers[2], reduction = numbers[3], code = numbers[4],
                bits = numbers[5], bytes = rows * row * (bits / 8);
  const uint8_t* x = tensors[0];
  const int64_t* positions = tensors[1];
  const void* updates = tensors[2];
  uint8_t* out = tensors[3];
  (void)workspace;
  for (int64_t b = 0; b < bytes; ++b) out[b] = x[b];
  for (int64_t i = 0; i < n; ++i) {
    const int64_t position = positions[i];
    if (position < 0 || position >= rows) continue;
    if (reduction == HONE_SCATTER_NONE) {
      if (bits == 8)
        HONE_ROW(uint8_t, b);
      else if (bits == 16)
        HONE_ROW(uint16_t, b);
      else if (bits == 32)
        HONE_ROW(uint32_t, b);
      else
        HONE_ROW(uint64_t, b);
    } else if (code == HONE_ORDER_FLOAT) {
      if (bits == 32)
        HONE_COMBINE(float, float);
      else
        HONE_COMBINE(double, double);
    } else if (code == HONE_ORDER_INT) {
      if (bits == 8)
        HONE_COMBINE(int8_t, uint8_t);
      else if (bits == 16)
        HONE_COMBINE(int16_t, uint32_t);
      else if (bits == 32)
        HONE_COMBINE(int32_t, uint32_t);
      else
        HONE_COMBINE(int64_t, uint64_t);
    } else {
      if (bits == 8)
        HONE_COMBINE(uint8_t, uint8_t);
      else if (bits == 16)
        HONE_COMBINE(uint16_t, uint32_t);
      else if (bits == 32)
        HONE_COMBINE(uint32_t, uint32_t);
      else
        HONE_COMBINE(uint64_t, uint64_t);
    }
  }
  return HONE_OK;
}
#undef HONE_COMBINE
#undef HONE_ROW
