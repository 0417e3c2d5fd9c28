#include "compiler/runtime/host_functions/host_functions.h"

typedef struct {
  float y0, x0, y1, x1, area; /* corners in order */
  float score;
  int64_t box;
} Candidate;

/* Whether a is taken after b. */
static int is_worse(const Candidate* a, const Candidate* b) {
  return a->score != b->score ? a->score < b->score : a->box > b->box;
}

/* Moves `c` down from `at` in a heap whose root is the best of all. */
static void sift_down(Candidate* heap, int64_t size, int64_t at, Candidate c) {
  for (;;) {
    int64_t child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && is_worse(&heap[child], &heap[child + 1])) ++child;
    if (!is_worse(&c, &heap[child])) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = c;
}

static float least(float a, float b) { return a < b ? a : b; }
static float most(float a, float b) { return a > b ? a : b; }

static Candidate candidate(const float* b, int64_t is_center, float score, int64_t box) {
  Candidate c;
  if (is_center) { /* x, y, width, height */
    c.x0 = b[0] - b[2] / 2, c.x1 = b[0] + b[2] / 2;
    c.y0 = b[1] - b[3] / 2, c.y1 = b[1] + b[3] / 2;
  } else { /* two corners, y before x */
    c.y0 = least(b[0], b[2]), c.y1 = most(b[0], b[2]);
    c.x0 = least(b[1], b[3]), c.x1 = most(b[1], b[3]);
  }
  c.area = (c.y1 - c.y0) * (c.x1 - c.x0);
  c.score = score;
  c.box = box;
  return c;
}

/* The boxes of a class that were taken so far. */
typedef struct {
  float *y0, *x0, *y1, *x1;
  int64_t count;
} Taken;

static int overlaps(const Taken* t, int64_t i, const Candidate* c, float threshold) {
  const float height = least(t->y1[i], c->y1) - most(t->y0[i], c->y0);
  const float width = least(t->x1[i], c->x1) - most(t->x0[i], c->x0);
  const float area = (t->y1[i] - t->y0[i]) * (t->x1[i] - t->x0[i]);
  if (!(height > 0 && width > 0 && area > 0 && c->area > 0)) return 0;
  const float common = height * width, all = area + c->area - common;
  return all > 0 && common / all > threshold;
}

/* Most boxes of a large image do not touch: that is found for a block at once, in vectors. */
static int is_suppressed(const Taken* t, const Candidate* c, float threshold) {
  enum { kBlock = 64 };
  for (int64_t begin = 0; begin < t->count; begin += kBlock) {
    const int64_t n = t->count - begin < kBlock ? t->count - begin : kBlock;
    const float *y0 = t->y0 + begin, *x0 = t->x0 + begin, *y1 = t->y1 + begin, *x1 = t->x1 + begin;
    int touch = 0;
    for (int64_t i = 0; i < n; ++i)
      touch |= (least(y1[i], c->y1) > most(y0[i], c->y0)) & (least(x1[i], c->x1) > most(x0[i], c->x0));
    for (int64_t i = 0; touch && i < n; ++i)
      if (overlaps(t, begin + i, c, threshold)) return 1;
  }
  return 0;
}

__attribute__((weak)) int32_t hone_internal_non_max_suppression(const int64_t* numbers, void* const* tensors,
                                                                void* workspace) {
  const int64_t batches = numbers[0], classes = numbers[1], n = numbers[2], is_center = numbers[4];
  const float *boxes = tensors[0], *scores = tensors[1];
  const int64_t given = *(const int64_t*)tensors[2], wanted = *(const int64_t*)tensors[3];
  const int64_t there = given < 0 ? 0 : given < n ? given : n, takes = wanted < numbers[3] ? wanted : numbers[3];
  const float overlap = *(const float*)tensors[4], score = *(const float*)tensors[5];
  int64_t *selected = tensors[6], count = 0;
  Candidate* heap = workspace;
  float* corners = (float*)(heap + n);
  Taken taken = {corners, corners + n, corners + 2 * n, corners + 3 * n, 0};
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t c = 0; c < classes; ++c) {
      int64_t size = 0;
      for (int64_t i = 0; i < there; ++i) {
        const float s = scores[(b * classes + c) * n + i];
        if (s > score || score != score) heap[size++] = candidate(boxes + (b * n + i) * 4, is_center, s, i);
      }
      for (int64_t i = size / 2; i-- > 0;) sift_down(heap, size, i, heap[i]);
      for (taken.count = 0; size > 0 && taken.count < takes;) {
        const Candidate best = heap[0];
        --size;
        sift_down(heap, size, 0, heap[size]);
        if (is_suppressed(&taken, &best, overlap)) continue;
        const int64_t at = taken.count++;
        taken.y0[at] = best.y0, taken.x0[at] = best.x0, taken.y1[at] = best.y1, taken.x1[at] = best.x1;
        selected[3 * count] = b, selected[3 * count + 1] = c, selected[3 * count + 2] = best.box;
        ++count;
      }
    }
  for (int64_t i = 3 * count; i < 3 * batches * classes * numbers[3]; ++i) selected[i] = 0;
  *(int64_t*)tensors[7] = count;
  return 0;
}
