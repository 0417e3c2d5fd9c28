#include "compiler/runtime/host_functions/host_functions.h"
#include "compiler/runtime/host_functions/order.h"

typedef struct {
  uint64_t key;
  int64_t position;
} Entry;

/* Whether a stands behind b. */
static int is_worse_entry(Entry a, Entry b) { return a.key != b.key ? a.key < b.key : a.position > b.position; }

/* Moves `e` down from `at` in a heap whose root is the worst of all. */
static void sift_entry_down(Entry* heap, int64_t size, int64_t at, Entry e) {
  for (;;) {
    int64_t child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && is_worse_entry(heap[child + 1], heap[child])) ++child;
    if (!is_worse_entry(heap[child], e)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = e;
}

static void top_k_of_row(const uint64_t* keys, int64_t n, int64_t k, int64_t* positions, int64_t stride, Entry* heap) {
  for (int64_t i = 0; i < k; ++i) heap[i] = (Entry){keys[i], i};
  for (int64_t i = k / 2; i-- > 0;) sift_entry_down(heap, k, i, heap[i]);
  for (int64_t i = k; i < n; ++i)
    if (keys[i] > heap[0].key) sift_entry_down(heap, k, 0, (Entry){keys[i], i});
  for (int64_t size = k; size-- > 0;) {
    positions[size * stride] = heap[0].position;
    sift_entry_down(heap, size, 0, heap[size]);
  }
}

__attribute__((weak)) int32_t hone_internal_top_k(const int64_t* numbers, void* const* tensors, void* workspace) {
  const int64_t outer = numbers[0], n = numbers[1], inner = numbers[2], k = numbers[3], largest = numbers[4],
                code = numbers[5], bits = numbers[6];
  const uint8_t* x = tensors[0];
  int64_t* positions = tensors[1];
  Entry* heap = workspace;
  uint64_t* keys = (uint64_t*)(heap + k);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      hone_order_keys(keys, x + (o * n * inner + i) * (bits / 8), n, inner, code, bits);
      for (int64_t j = 0; j < n && !largest; ++j) keys[j] = ~keys[j];
      top_k_of_row(keys, n, k, positions + o * k * inner + i, inner, heap);
    }
  return 0;
}
