/* Layers in C: what no loop nest over fixed extents computes well, because it is sequential or because how much of it
   there is depends on data. Artifacts bring those that they call. C11 that needs no library.

   `numbers` are the layer's sizes. `tensors` are its inputs, then its outputs, contiguous and aligned as their
   elements; inputs are only read, and nothing overlaps. `workspace` is aligned to 64 bytes and as large as said below.
   A count says how many of an output's elements there are; all behind them are set to zero, which is a valid position.
   They return HONE_OK, but for require and scatter. */
#ifndef HONE_HOST_FUNCTIONS_H
#define HONE_HOST_FUNCTIONS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t (*HoneHostFunction)(const int64_t* numbers, void* const* tensors, void* workspace);

/* Where a row of bools is true, ascending.
   numbers: n. tensors: x bool[n]; positions s64[n], count s64[1]. */
int32_t hone_internal_nonzero(const int64_t* numbers, void* const* tensors, void* workspace);

/* Where the k largest (or smallest) elements along an axis are, in order; of equal ones the first comes first. A NaN
   counts as larger than all numbers where its sign is +, and as smaller than all where it is -.
   numbers: outer, n, inner (extents before, along and behind the axis), k, largest, the elements' order (order.h)
   and bits. tensors: x [outer, n, inner]; positions s64[outer, k, inner]. workspace: 8 n + 16 k bytes. */
int32_t hone_internal_top_k(const int64_t* numbers, void* const* tensors, void* workspace);

/* Non-maximum suppression as ONNX defines it: of each class of each batch the boxes whose score is above a threshold,
   best first (of equal scores the first), without those that overlap one that was taken by more than another threshold.
   numbers: batches b, classes c, boxes n, most m, is_center. tensors: boxes f32[b, n, 4], scores f32[b, c, n], s64[1]
   boxes that are there (of n), s64[1] how many to take of a class (at most m), f32[1] overlap, f32[1] score (NaN:
   none); selected s64[b c m, 3] (batch, class, box), count s64[1]. workspace: 48 n + 4080 bytes. */
int32_t hone_internal_non_max_suppression(const int64_t* numbers, void* const* tensors, void* workspace);

/* The different ones of n rows of m elements: in lexicographic order, or in that of their first occurrence. Elements
   compare as top_k's.
   numbers: n, m, sorted, order, bits. tensors: x [n, m], s64[1] rows that are there; first s64[n] (where each occurs
   first), inverse s64[n] (which one each row is), counts s64[n] (how often each occurs), count s64[1].
   workspace: 8 n m + 24 n bytes. */
int32_t hone_internal_unique(const int64_t* numbers, void* const* tensors, void* workspace);

/* Copies a tensor where a condition holds; HONE_NO_RESULT where it does not.
   numbers: bytes. tensors: x, condition bool[1]; y. */
int32_t hone_internal_require(const int64_t* numbers, void* const* tensors, void* workspace);

/* Elements at the positions that are said, and zeros; of equal positions the last one's. HONE_NO_RESULT for a position
   that is none. numbers: n, size, bytes of an element. tensors: x[n], positions s64[n]; y[size]. */
int32_t hone_internal_scatter(const int64_t* numbers, void* const* tensors, void* workspace);

enum { HONE_SCATTER_NONE = 0, HONE_SCATTER_ADD = 1, HONE_SCATTER_MUL = 2, HONE_SCATTER_MAX = 3, HONE_SCATTER_MIN = 4 };
/* A tensor with some of its rows replaced by others or combined with them, one after the other. An update whose
   position is none is left out: behind the elements there may be any, and a caller's indices may be wrong. numbers: n,
   rows, row (elements of one), reduction (HONE_SCATTER_NONE to _MIN; of 16-bit floats and bools NONE alone), order,
   bits. tensors: x [rows, row], positions s64[n], updates [n, row]; y [rows, row]. */
int32_t hone_internal_scatter_rows(const int64_t* numbers, void* const* tensors, void* workspace);

#ifdef __cplusplus
}
#endif

#endif
