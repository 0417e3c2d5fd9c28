// Bounds of integer expressions, from facts about their variables.
#pragma once

#include <utility>
#include <vector>

#include "compiler/arith/linear.h"

namespace hone {

/// Inclusive; kMin and kMax stand for "unbounded". Empty when lo > hi.
struct Interval {
  static constexpr int64_t kMin = INT64_MIN, kMax = INT64_MAX;
  int64_t lo = kMin, hi = kMax;
  bool is_point() const { return lo == hi; }
  bool within(int64_t low, int64_t high) const { return lo >= low && hi <= high; }
};

/// Facts that hold at a point of a program: ranges of variables and linear facts `fact >= 0`. Used as a stack: a scope
/// pops at its end all that it pushed.
class Facts {
 public:
  void push_range(const VarNode* var, int64_t lo, int64_t hi) { ranges_.push_back({var, {lo, hi}}); }
  /// The range of a loop's variable: min .. min + extent - 1. Unbounded on both ends where that end may leave int64,
  /// because the variable then wraps around.
  void push_loop(const VarNode* var, const Expr& min, const Expr& extent);
  void pop_range() { ranges_.pop_back(); }
  /// Adds the facts implied by `condition` being true: a conjunction of comparisons. Ignores other parts, sides that
  /// may wrap around, and reads of memory, which a store may change. Returns how many facts to pop.
  int push_condition(const Expr& condition);
  /// Adds the facts implied by `condition` being false.
  int push_negation(const Expr& condition);
  /// Adds `fact >= 0`, exactly one fact.
  void push_fact(Linear fact) { facts_.push_back(std::move(fact)); }
  void pop_facts(int n) { facts_.resize(facts_.size() - static_cast<size_t>(n)); }

  Interval range_of(const VarNode* var) const;
  /// Bounds of the program's value of `e` (index or bool, scalar or of each lane): intervals of the linear form,
  /// tightened by facts. Where int64 arithmetic could overflow, both ends are unbounded; other integer types are
  /// unbounded but for constants.
  Interval bounds(const Expr& e) const;
  Interval bounds(const Linear& e) const;
  /// Bounds of `e` in exact arithmetic over its atoms; one end may be unbounded. They hold for the program's own result
  /// only when is_exact(e).
  Interval exact_bounds(const Linear& e) const;
  /// True when the program's int64 arithmetic equals exact arithmetic for `e`: it is one atom, or the ranges alone keep
  /// it inside int64.
  bool is_exact(const Linear& e) const;
  /// Whether `condition` holds, when that is proved either way.
  std::optional<bool> decides(const Expr& condition) const;
  /// True when `condition` is proved to hold; false only says that it was not proved.
  bool proves(const Expr& condition) const { return decides(condition) == true; }
  bool disproves(const Expr& condition) const { return decides(condition) == false; }
  /// Bounds of b - a in exact arithmetic; nothing when they are no scalar indices, or one of them may wrap around.
  std::optional<Interval> difference(const Expr& a, const Expr& b) const;
  /// Comparisons of terms made so far. One query makes a bounded number of them and answers more loosely past it.
  int64_t steps() const { return steps_; }

 private:
  Interval interval(const Linear& e) const;
  Interval atom_interval(const Expr& e) const;
  Interval nonlinear_interval(const Expr& e) const;
  int64_t tightened_lower(const Linear& e, int depth) const;
  int64_t tightened_by(const std::vector<Linear>& facts, const Linear& e, int depth, int64_t best) const;
  void derive_from(const Linear& fact, const Linear& dividend, int64_t c, const Expr& quotient) const;
  void derive_facts(const Linear& e) const;
  bool has_exact_dividends(const Linear& form) const;
  int push_nonnegative(const Expr& a, const Expr& b, int64_t offset);

  struct Range {
    const VarNode* var;
    Interval interval;
  };
  std::vector<Range> ranges_;
  std::vector<Linear> facts_;

  // During a query: intervals of the atoms seen, because facts name the same atoms over and over and atoms nest.
  struct Query;
  mutable std::vector<std::pair<const ExprNode*, Interval>> memo_;
  mutable std::vector<Linear> derived_;  ///< facts about the quotients that the query names
  mutable int query_depth_ = 0;
  mutable bool without_facts_ = false;
  mutable int64_t steps_ = 0, steps_allowed_ = 0;
};

}  // namespace hone
