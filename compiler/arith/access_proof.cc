#include "compiler/arith/access_proof.h"

#include <algorithm>

namespace hone {
namespace {

// Larger expressions, deeper nesting and more facts than any template makes, and steps enough for ten thousand accesses of a real program:
// one from the network must not decide how long the verifier runs.
constexpr int kMaxNodes = 400, kMaxNesting = 8, kMaxFacts = 20;
constexpr int64_t kMaxSteps = 50'000'000;

bool is_bounded(const Interval& i) { return i.lo != Interval::kMin && i.hi != Interval::kMax; }

bool is_scalar_index(const Expr& e) { return e->dtype == kIndex; }

// Counts the nodes of an expression, up to a limit.
int count_nodes(const Expr& e, int limit) {
  if (limit <= 0) return 1;
  int n = 1;
  const auto add = [&](const Expr& x) { n += count_nodes(x, limit - n); };
  switch (e->kind) {
    case ExprKind::kCast: add(as<Cast>(e)->value); break;
    case ExprKind::kBinary: add(as<Binary>(e)->a); add(as<Binary>(e)->b); break;
    case ExprKind::kNot: add(as<Not>(e)->value); break;
    case ExprKind::kSelect: add(as<Select>(e)->condition); add(as<Select>(e)->on_true); add(as<Select>(e)->on_false); break;
    case ExprKind::kLoad: for (const Expr& i : as<Load>(e)->indices) add(i); break;
    case ExprKind::kRamp: add(as<Ramp>(e)->base); add(as<Ramp>(e)->stride); break;
    case ExprKind::kBroadcast: add(as<Broadcast>(e)->value); break;
    case ExprKind::kCall: for (const Expr& a : as<Call>(e)->args) add(a); break;
    default: break;
  }
  return n;
}

}  // namespace

bool AccessProver::is_small(const Expr& e) {
  if (steps_ + facts_.steps() > kMaxSteps) return false;
  const int n = count_nodes(e, kMaxNodes);
  steps_ += n + int64_t{n} * n / 8;  // linear forms compare every pair of terms
  return n < kMaxNodes;
}

// True when the linear forms of `e` and of everything inside it have the values that exact arithmetic gives: then facts, which are exact,
// say something about what the program computes.
bool AccessProver::is_exact(const Expr& e, int nesting) {
  if (nesting > kMaxNesting) return false;
  const auto form = linear_of(e);
  if (!form || !is_bounded(ranges_.bounds(*form))) return false;
  for (const Linear::Term& t : form->terms) {
    if (t.atom->kind == ExprKind::kVar) continue;
    const Binary* op = as<Binary>(t.atom);
    if (!op || !is_scalar_index(op->a) || !is_exact(op->a, nesting + 1) || !is_exact(op->b, nesting + 1)) return false;
  }
  return true;
}

Interval AccessProver::bounds(const Expr& e) {
  if (!is_small(e)) return {};
  const Interval plain = ranges_.bounds(e);
  if (fact_count_ == 0 || !is_exact(e, 0)) return plain;
  const Interval tight = facts_.bounds(e);
  return {std::max(plain.lo, tight.lo), std::min(plain.hi, tight.hi)};
}

// a <= b.
int AccessProver::add_fact(const Expr& a, const Expr& b) {
  if (!is_scalar_index(a) || fact_count_ >= kMaxFacts || !is_small(a) || !is_small(b) || !is_exact(a, 0) || !is_exact(b, 0)) return 0;
  const int n = facts_.push_condition(Expr(new Binary(BinaryOp::kLe, boolean, a, b)));
  fact_count_ += n;
  return n;
}

int AccessProver::add_facts(const Expr& condition, bool truth) {
  if (const Not* op = as<Not>(condition)) return add_facts(op->value, !truth);
  const Binary* op = as<Binary>(condition);
  if (!op || op->dtype != boolean) return 0;
  const auto less = [&](const Expr& a, const Expr& b) {  // a < b
    return is_scalar_index(a) ? add_fact(Expr(new Binary(BinaryOp::kAdd, kIndex, a, make_int(1))), b) : 0;
  };
  switch (op->op) {
    case BinaryOp::kAnd:
    case BinaryOp::kOr: {
      if (truth != (op->op == BinaryOp::kAnd)) return 0;
      const int first = add_facts(op->a, truth);
      return first + add_facts(op->b, truth);
    }
    case BinaryOp::kLt: return truth ? less(op->a, op->b) : add_fact(op->b, op->a);
    case BinaryOp::kLe: return truth ? add_fact(op->a, op->b) : less(op->b, op->a);
    case BinaryOp::kEq:
    case BinaryOp::kNe: {
      if (truth != (op->op == BinaryOp::kEq)) return 0;
      const int first = add_fact(op->a, op->b);
      return first + add_fact(op->b, op->a);
    }
    default: return 0;
  }
}

AccessProver::Scope AccessProver::push_condition(const Expr& condition, bool truth) {
  Scope scope;
  scope.doubts = 1;
  ++doubts_;
  scope.facts = add_facts(condition, truth);
  return scope;
}

AccessProver::Scope AccessProver::push_loop(const VarNode* var, const Expr& min, const Expr& extent) {
  Scope scope;
  const Interval lo = bounds(min), n = bounds(extent);
  int64_t last;
  Interval range;
  // The body runs only where the extent is at least 1; var = min + k does not wrap when both ends are inside int64.
  if (is_bounded(lo) && is_bounded(n) && !__builtin_add_overflow(lo.hi, std::max<int64_t>(n.hi, 1) - 1, &last)) range = {lo.lo, last};
  ranges_.push_range(var, range.lo, range.hi);
  facts_.push_range(var, range.lo, range.hi);
  scope.ranges = 1;
  const bool constant = lo.is_point() && n.is_point() && is_bounded(range);
  if (constant && n.lo >= 1) {
    attained_.push_back(var);
  } else {
    attained_.push_back(nullptr);
    scope.doubts = 1;
    ++doubts_;
  }
  if (constant || !is_bounded(range)) return scope;
  // min <= var < min + extent, for each side of a minimum on its own.
  const Expr v{var};
  if (!lo.is_point()) scope.facts += add_fact(min, v);
  const auto below = [&](const Expr& some_extent) {
    const Expr end(new Binary(BinaryOp::kAdd, kIndex, min, some_extent));
    return add_fact(Expr(new Binary(BinaryOp::kAdd, kIndex, v, make_int(1))), end);
  };
  const Binary* least = as<Binary>(extent);
  if (least && least->op == BinaryOp::kMin) {
    scope.facts += below(least->a);
    scope.facts += below(least->b);
  } else {
    scope.facts += below(extent);
  }
  return scope;
}

void AccessProver::pop(const Scope& scope) {
  facts_.pop_facts(scope.facts);
  fact_count_ -= scope.facts;
  doubts_ -= scope.doubts;
  if (scope.ranges) {
    ranges_.pop_range();
    facts_.pop_range();
    attained_.pop_back();
  }
}

// The ends of the range of `e` when both are certainly reached: a linear form over loops that run through constant ranges. Else empty.
Interval AccessProver::attained(const Expr& e) const {
  constexpr Interval kNone{1, 0};
  const auto form = linear_of(e);
  if (!form) return kNone;
  for (const Linear::Term& t : form->terms)
    if (std::find(attained_.begin(), attained_.end(), t.atom.get()) == attained_.end()) return kNone;
  const Interval i = ranges_.bounds(*form);
  return is_bounded(i) ? i : kNone;
}

AccessProver::Verdict AccessProver::check(const Expr& index, int64_t extent) {
  if (bounds(index).within(0, extent - 1)) return Verdict::kProved;
  if (doubts_ > 0 || !is_small(index)) return Verdict::kUnproved;
  const Interval reached = attained(index);
  const bool is_wrong = reached.lo <= reached.hi && (reached.lo < 0 || reached.hi >= extent);
  return is_wrong ? Verdict::kWrong : Verdict::kUnproved;
}

AccessProver::Verdict AccessProver::check(const std::vector<Expr>& indices, const std::vector<Expr>& shape) {
  std::vector<int64_t> extents;
  for (const Expr& n : shape) {
    const auto extent = as_const_int(n);
    if (!extent || *extent < 0) return Verdict::kUnproved;
    extents.push_back(*extent);
  }
  if (indices.size() == 1 && extents.size() != 1) {
    int64_t flat = 1;
    for (int64_t n : extents)
      if (__builtin_mul_overflow(flat, n, &flat)) return Verdict::kUnproved;
    extents = {flat};
  }
  if (indices.size() != extents.size()) return Verdict::kUnproved;
  Verdict worst = Verdict::kProved;
  for (size_t d = 0; d < indices.size(); ++d) worst = std::max(worst, check(indices[d], extents[d]));
  return worst;
}

}  // namespace hone
