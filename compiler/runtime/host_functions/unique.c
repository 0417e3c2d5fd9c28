#include "compiler/runtime/host_functions/host_functions.h"
#include "compiler/runtime/host_functions/order.h"

/* Whether row a stands behind row b. */
static int is_behind(const uint64_t* keys, int64_t m, int64_t a, int64_t b) {
  for (int64_t i = 0; i < m; ++i)
    if (keys[a * m + i] != keys[b * m + i]) return keys[a * m + i] > keys[b * m + i];
  return 0;
}

static int is_same(const uint64_t* keys, int64_t m, int64_t a, int64_t b) {
  for (int64_t i = 0; i < m; ++i)
    if (keys[a * m + i] != keys[b * m + i]) return 0;
  return 1;
}

/* Stable, by merging; returns which of the two arrays has the result. */
static int64_t* sort_rows(const uint64_t* keys, int64_t n, int64_t m, int64_t* from, int64_t* to) {
  for (int64_t i = 0; i < n; ++i) from[i] = i;
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t begin = 0; begin < n; begin += 2 * width) {
      const int64_t middle = begin + width < n ? begin + width : n, end = middle + width < n ? middle + width : n;
      int64_t a = begin, b = middle;
      for (int64_t i = begin; i < end; ++i) {
        const int takes_second = a == middle || (b < end && is_behind(keys, m, from[a], from[b]));
        to[i] = takes_second ? from[b++] : from[a++];
      }
    }
    int64_t* sorted = to;
    to = from;
    from = sorted;
  }
  return from;
}

__attribute__((weak)) int32_t hone_internal_unique(const int64_t* numbers, void* const* tensors, void* workspace) {
  const int64_t all = numbers[0], m = numbers[1], sorted = numbers[2], given = *(const int64_t*)tensors[1];
  const int64_t n = given < 0 ? 0 : given < all ? given : all;
  int64_t *first = tensors[2], *inverse = tensors[3], *counts = tensors[4], count = 0;
  uint64_t* keys = workspace;
  int64_t *order = (int64_t*)(keys + all * m), *other = order + all, *renamed = other + all;
  hone_order_keys(keys, tensors[0], n * m, 1, numbers[3], numbers[4]);
  order = sort_rows(keys, n, m, order, other);
  for (int64_t i = 0; i < all; ++i) first[i] = inverse[i] = counts[i] = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || !is_same(keys, m, order[i - 1], order[i])) first[count++] = order[i];
    inverse[order[i]] = count - 1;
  }
  if (!sorted) {
    /* By first occurrence; a row that is its kind's first names it. */
    int64_t next = 0;
    for (int64_t i = 0; i < n; ++i)
      if (first[inverse[i]] == i) renamed[inverse[i]] = next++;
    for (int64_t i = 0; i < n; ++i) inverse[i] = renamed[inverse[i]];
    for (int64_t i = n; i-- > 0;) first[inverse[i]] = i;
  }
  for (int64_t i = 0; i < n; ++i) ++counts[inverse[i]];
  *(int64_t*)tensors[5] = count;
  return 0;
}
