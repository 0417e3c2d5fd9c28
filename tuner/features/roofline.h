// The time of a statement by arithmetic, loads and memory traffic alone: a model without learning, good enough to
// choose the first configs to measure.
#pragma once

#include "tuner/features/summary.h"

namespace hone::nest {

/// Cycles of one core for all of a statement's executions, before they are shared among threads.
struct Cycles {
  double compute = 0;  ///< arithmetic and loads of the body, with the latency that too few accumulators do not hide
  double l1 = 0;       ///< lines that come from L2
  double l2 = 0;       ///< lines that come from beyond it
  double loops = 0;    ///< branches and counters around the body
  /// The longest of them, plus a share of the others: they overlap, but not fully.
  double total() const;
};

Cycles cycles_of(const Summary& s);

/// The share of the longest-running thread in a loop nest's work, as a factor on 1 / threads: 1 when all get the same.
double imbalance(const Summary& s);

/// Cycles until the statement is done on all threads of the target.
double elapsed(const Summary& s);

}  // namespace hone::nest
