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

enum { kMostBuckets = 255 };

/* The boxes of a class that were taken so far, in buckets by x0, each as wide as the widest box at least: what touches
   a box is in its bucket or near it. */
typedef struct {
  float *y0, *x0, *y1, *x1;
  int64_t *begin, *count; /* of each bucket: its first position, with room for its candidates; how many were taken */
  int64_t buckets;
  float low, per_x, widest;
} Taken;

/* Ascending in x; 0 for NaN. */
static int64_t bucket_of(const Taken* t, float x) {
  const float at = (x - t->low) * t->per_x;
  return at >= (float)t->buckets ? t->buckets - 1 : at > 0 ? (int64_t)at : 0;
}

/* Makes room for these candidates. */
static void begin_class(Taken* t, const Candidate* candidates, int64_t size) {
  const float huge = 3e38f;
  float high = -huge;
  t->low = huge, t->widest = 0;
  for (int64_t i = 0; i < size; ++i) {
    const float x0 = candidates[i].x0, width = candidates[i].x1 - x0;
    t->low = least(x0, t->low), high = most(x0, high), t->widest = most(width, t->widest);
  }
  const float range = high - t->low;
  t->buckets = 1, t->per_x = 0;
  if (t->widest > 0 && range > t->widest && range < huge) {
    const float fit = range / t->widest;
    t->buckets = fit < kMostBuckets ? (int64_t)fit : kMostBuckets;
    t->per_x = (float)t->buckets / range;
  }
  for (int64_t b = 0; b < t->buckets; ++b) t->begin[b] = t->count[b] = 0;
  for (int64_t i = 0; i < size; ++i) ++t->begin[bucket_of(t, candidates[i].x0)];
  for (int64_t b = 0, positions = 0; b < t->buckets; ++b) {
    const int64_t room = t->begin[b];
    t->begin[b] = positions;
    positions += room;
  }
}

static void take(Taken* t, const Candidate* c) {
  const int64_t b = bucket_of(t, c->x0), at = t->begin[b] + t->count[b]++;
  t->y0[at] = c->y0, t->x0[at] = c->x0, t->y1[at] = c->y1, t->x1[at] = c->x1;
}

/* Whether a box overlaps one of these by more than the threshold. For a block of them at once, in vectors: first
   whether any touches it, which most boxes do not. */
static int overlaps_any(const float* y0, const float* x0, const float* y1, const float* x1, int64_t count,
                        const Candidate* c, float threshold) {
  enum { kBlock = 32 };
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = count - begin < kBlock ? count : begin + kBlock;
    int touch = 0, overlaps = 0;
    for (int64_t i = begin; i < end; ++i)
      touch |= (least(y1[i], c->y1) > most(y0[i], c->y0)) & (least(x1[i], c->x1) > most(x0[i], c->x0));
    if (!touch) continue;
    for (int64_t i = begin; i < end; ++i) {
      const float height = least(y1[i], c->y1) - most(y0[i], c->y0), width = least(x1[i], c->x1) - most(x0[i], c->x0);
      const float area = (y1[i] - y0[i]) * (x1[i] - x0[i]), common = height * width, all = area + c->area - common;
      overlaps |= (height > 0) & (width > 0) & (area > 0) & (c->area > 0) & (all > 0) & (common / all > threshold);
    }
    if (overlaps) return 1;
  }
  return 0;
}

/* Two buckets more in front: widths and positions are rounded. */
static int is_suppressed(const Taken* t, const Candidate* c, float threshold) {
  const int64_t first = bucket_of(t, c->x0 - t->widest) - 2, last = bucket_of(t, c->x1);
  for (int64_t b = first < 0 ? 0 : first; b <= last; ++b) {
    const int64_t at = t->begin[b];
    if (overlaps_any(t->y0 + at, t->x0 + at, t->y1 + at, t->x1 + at, t->count[b], c, threshold)) return 1;
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
  int64_t* buckets = (int64_t*)(corners + 4 * n);
  Taken taken = {corners, corners + n, corners + 2 * n, corners + 3 * n, buckets, buckets + kMostBuckets, 1, 0, 0, 0};
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t c = 0; c < classes; ++c) {
      int64_t size = 0;
      for (int64_t i = 0; i < there; ++i) {
        const float s = scores[(b * classes + c) * n + i];
        if (s > score || score != score) heap[size++] = candidate(boxes + (b * n + i) * 4, is_center, s, i);
      }
      for (int64_t i = size / 2; i-- > 0;) sift_down(heap, size, i, heap[i]);
      begin_class(&taken, heap, size);
      for (int64_t taken_boxes = 0; size > 0 && taken_boxes < takes;) {
        const Candidate best = heap[0];
        --size;
        sift_down(heap, size, 0, heap[size]);
        if (is_suppressed(&taken, &best, overlap)) continue;
        take(&taken, &best);
        ++taken_boxes;
        selected[3 * count] = b, selected[3 * count + 1] = c, selected[3 * count + 2] = best.box;
        ++count;
      }
    }
  for (int64_t i = 3 * count; i < 3 * batches * classes * numbers[3]; ++i) selected[i] = 0;
  *(int64_t*)tensors[7] = count;
  return 0;
}
