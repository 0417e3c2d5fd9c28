// The reference of a workload: its naive function with fp64 accumulation, on logical tensors, and how far a candidate
// may be from it.
#pragma once

#include "compiler/ir/module.h"
#include "compiler/ops/workload.h"

namespace hone {

/// A Module with one kernel. Parameters: `samples` (s64 [S], flat indices into the logical output), the workload's
/// inputs and constants in their order (logical, row-major), then two outputs of S elements: `value` (f64, or s64 for
/// integer workloads) and `magnitude` (f64: of a sum, that of |a b| plus the absolute epilogue inputs; of elementwise
/// workloads, see reference_elementwise.h; zeros for integers, maxima and minima). A loop over the samples, parallel on
/// `workers`.
Module reference_module(const Workload& w, int64_t sample_count, int workers);

/// Bounds for the comparison, derived from dtype and reduction length K. f32: each product and sum rounds by at most u
/// = 2^-24, so |err| <= (K + 2) u sum|a b|; max_error is that bound for the worst order of summation, rel_error = 4
/// sqrt(K) u (errors add like a random walk; 1 where one such sum or a few stand for all). Elementwise: 2 u times the
/// magnitude, which is the propagated error. Integers, maxima and minima: 0, exact.
struct ErrorBounds {
  double rel_error = 0;
  double max_error = 0;
};
ErrorBounds error_bounds(const Workload& w);

/// Flat output indices to compare. Empty = all, when computing all of them takes at most `budget` multiply-adds and
/// they are at most 2^23; else at least 16,384: the corners and edges of every axis, the last elements of every axis
/// (tails), and a seeded random draw.
std::vector<int64_t> reference_samples(const Workload& w, uint64_t seed, double budget = 1e9);

/// Elements of the logical output.
int64_t output_elements(const Workload& w);

}  // namespace hone
