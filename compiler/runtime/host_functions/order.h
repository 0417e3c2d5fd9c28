/* Elements of any type as numbers without sign that compare as they do. */
#ifndef HONE_ORDER_H
#define HONE_ORDER_H

#include <stdint.h>

enum { HONE_ORDER_INT = 0, HONE_ORDER_UINT = 1, HONE_ORDER_FLOAT = 2 };

/* keys[i] of x[i * stride]: for i < n. `bits`: 8, 16, 32 or 64. */
static inline void hone_order_keys(uint64_t* keys, const void* x, int64_t n, int64_t stride, int64_t code,
                                   int64_t bits) {
  const uint64_t sign = (uint64_t)1 << (bits - 1), all = sign | (sign - 1);
#define HONE_ORDER_LOAD(T) \
  for (int64_t i = 0; i < n; ++i) keys[i] = ((const T*)x)[i * stride]
  if (bits == 8)
    HONE_ORDER_LOAD(uint8_t);
  else if (bits == 16)
    HONE_ORDER_LOAD(uint16_t);
  else if (bits == 32)
    HONE_ORDER_LOAD(uint32_t);
  else
    HONE_ORDER_LOAD(uint64_t);
#undef HONE_ORDER_LOAD
  if (code == HONE_ORDER_UINT) return;
  if (code == HONE_ORDER_INT) {
    for (int64_t i = 0; i < n; ++i) keys[i] ^= sign;
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t bits_of = keys[i] == sign ? 0 : keys[i]; /* -0 is 0 */
    keys[i] = bits_of & sign ? ~bits_of & all : bits_of | sign;
  }
}

#endif
