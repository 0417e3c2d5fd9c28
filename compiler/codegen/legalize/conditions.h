// Analysis of conditions and sizes of statements, for the legalize passes.
#pragma once

#include <algorithm>
#include <vector>

#include "compiler/arith/linear.h"
#include "compiler/ir/stmt.h"

namespace hone {

/// The parts of a conjunction, from the left; any other condition is its own only part.
std::vector<Expr> conjuncts(const Expr& condition);

/// True when `condition` reads no memory and cannot fault, so that it may be evaluated earlier or more often.
bool is_index_arithmetic(const Expr& condition);

/// A comparison of scalar indices as `form >= 0`. Nothing for any other condition.
std::optional<Linear> nonnegative_form(const Expr& condition);

/// Counts of statements end here.
inline constexpr int64_t kMostCounted = int64_t{1} << 40;
/// For counts of at least 0 and at most kMostCounted.
inline int64_t saturating_product(int64_t a, int64_t b) {
  return b != 0 && a > kMostCounted / b ? kMostCounted : a * b;
}
inline int64_t saturating_sum(int64_t a, int64_t b) { return std::min(kMostCounted, a + b); }

/// Stores of a statement: performed in one run, and written down once loops are unrolled. A vector counts as one, a
/// loop of unknown extent as one run.
struct StatementCount {
  int64_t run = 0, written = 0;
};
StatementCount size_of(const Stmt& s);

/// True when a loop in `s` stays a loop: a condition around it costs nothing as a branch.
bool has_loop(const Stmt& s);

}  // namespace hone
