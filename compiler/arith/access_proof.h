// Proofs that accesses stay inside their buffers, from the facts that verify() has at a point of a program.
#pragma once

#include <vector>

#include "compiler/arith/bounds.h"

namespace hone {

/// The facts that the loops and conditions around a point imply, as a stack. Sound also for programs written to deceive
/// it: an expression whose int64 arithmetic could wrap, a fact over memory (which a store may change) and anything too
/// large to analyse prove nothing.
class AccessProver {
 public:
  enum class Verdict : uint8_t {
    kProved,  ///< always inside
    kUnproved,
    kWrong,  ///< certainly executed, and certainly outside at least once
  };

  /// Inside a loop over `var`. Returned to pop().
  struct Scope {
    int loops = 0, ranges = 0, facts = 0, doubts = 0;
  };
  [[nodiscard]] Scope push_loop(const VarNode* var, const Expr& min, const Expr& extent);
  /// Where `condition` is known to be `truth`. Accesses inside are no longer certain to be executed.
  [[nodiscard]] Scope push_condition(const Expr& condition, bool truth);
  void pop(const Scope& scope);

  /// `indices` (scalar) into a buffer of `shape`: one a dimension, or one flat index.
  Verdict check(const std::vector<Expr>& indices, const std::vector<Expr>& shape);
  /// True when `form` + c is proved to lie in 0 .. extent - 1 for every c from `lo` to `hi`: unrolled copies of an
  /// access, and the lanes of a vector, differ in a constant, and only the outermost of them need a proof.
  bool proves_inside(const Linear& form, int64_t lo, int64_t hi, int64_t extent);
  /// The same by the ranges of variables alone, which costs little.
  bool ranges_prove_inside(const Linear& form, int64_t lo, int64_t hi, int64_t extent) const;
  /// The values that scalar index `e` can take here.
  Interval bounds(const Expr& e);
  /// The linear form of a scalar index; nothing when there is none, or `e` is too large to analyse.
  std::optional<Linear> form_of(const Expr& e) { return is_small(e) ? linear_of(e) : std::nullopt; }
  /// A variable that is no loop's, such as the number of a GPU's block: it takes the values of `range`.
  [[nodiscard]] Scope push_variable(const VarNode* var, const Interval& range);

 private:
  bool is_exact(const Expr& e, int nesting, bool elements_too);
  bool is_small(const Expr& e);
  void push_range(const VarNode* var, Interval range, Scope* scope);
  void add_facts(const Expr& condition, bool truth, Scope* scope);
  void add_fact(const Expr& a, const Expr& b, Scope* scope);
  void add_fact(Linear fact, Scope* scope);
  void add_rounded(const Linear& fact, Scope* scope);
  void tighten_ranges(Scope* scope);
  Verdict check(const Expr& index, int64_t extent);
  bool is_inside(const Linear& form, int64_t extent, const Interval& found);
  bool is_inside(const Linear& form, int64_t extent, const Interval& found, size_t kept_a_step);
  int64_t lower_end(const Linear& e, size_t kept_a_step);  ///< `kept_a_step`: the width of the search
  Interval attained(const Expr& e) const;

  Facts ranges_;                          // of variables alone: sound for what the program computes, wrapped or not
  Facts facts_;                           // the same ranges, and facts between expressions that cannot wrap
  std::vector<Linear> known_;             // the facts, as `known >= 0`
  int doubts_ = 0;                        // conditions, loops that may be empty: inside, nothing is certain to happen
  std::vector<const VarNode*> attained_;  // loop variables that take every value of their range
  int64_t steps_ = 0;
};

}  // namespace hone
