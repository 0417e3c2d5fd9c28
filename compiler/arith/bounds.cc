#include "compiler/arith/bounds.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "compiler/ir/queries.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

constexpr int64_t kMin = Interval::kMin, kMax = Interval::kMax;

// The interval of constant + sum of coefficient * atom, in 128 bits. Where an end leaves the int64 range, or an atom is
// unbounded, the value may wrap around and neither end holds.
struct Sum {
  // A product has at most 126 bits: sums that end within this limit at each step cannot leave 128 bits, however many
  // terms there are.
  static constexpr __int128 kMost = static_cast<__int128>(1) << 100;

  __int128 lo, hi;
  bool bounded = true;
  explicit Sum(int64_t constant) : lo(constant), hi(constant) {}
  void add(Interval a, int64_t c) {
    if (!bounded || a.lo == kMin || a.hi == kMax) {
      bounded = false;
      return;
    }
    lo += static_cast<__int128>(c) * (c < 0 ? a.hi : a.lo);
    hi += static_cast<__int128>(c) * (c < 0 ? a.lo : a.hi);
    bounded = -kMost < lo && lo < kMost && -kMost < hi && hi < kMost;
  }
  Interval result() const {
    if (!bounded || lo <= kMin || hi >= kMax) return {};
    return {static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
  }
};

// Limit of the steps of one query: a template's conditions take a few thousand.
constexpr int64_t kStepsPerQuery = 200'000;

bool is_index(const Expr& e) { return e->dtype == kIndex; }

bool is_one_atom(const Linear& e) { return e.terms.size() == 1 && e.terms[0].coefficient == 1 && e.constant == 0; }

bool reads_any(const Linear& form) {
  return std::any_of(form.terms.begin(), form.terms.end(), [](const Linear::Term& t) { return reads_memory(t.atom); });
}

}  // namespace

// Alive while a query runs. Queries nest (one for each atom); the outermost clears the memoised results.
struct Facts::Query {
  const Facts& facts;
  explicit Query(const Facts& f) : facts(f) {
    if (facts.query_depth_++ == 0) facts.steps_allowed_ = facts.steps_ + kStepsPerQuery;
  }
  ~Query() {
    if (--facts.query_depth_ > 0) return;
    facts.memo_.clear();
    facts.derived_.clear();
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
};

void Facts::push_loop(const VarNode* var, const Expr& min, const Expr& extent) {
  const Interval lo = bounds(min), n = bounds(extent);
  int64_t last;
  // A body that runs has an extent of at least 1. An unbounded end is kMax, which the addition below turns into an
  // overflow.
  if (lo.lo == kMin || __builtin_add_overflow(lo.hi, std::max<int64_t>(n.hi, 1) - 1, &last))
    return push_range(var, kMin, kMax);
  push_range(var, lo.lo, last);
}

Interval Facts::range_of(const VarNode* var) const {
  for (auto it = ranges_.rbegin(); it != ranges_.rend(); ++it)
    if (it->var == var) return it->interval;
  return {};
}

Interval Facts::atom_interval(const Expr& e) const {
  if (e->kind == ExprKind::kIntImm) return {as<IntImm>(e)->value, as<IntImm>(e)->value};
  if (e->kind == ExprKind::kVar) return range_of(as<VarNode>(e));
  if (facts_.empty() || without_facts_) return nonlinear_interval(e);
  for (const auto& [atom, interval] : memo_)
    if (atom == e.get()) return interval;
  // The bounds of an atom may depend on a fact that contains it (i + i floordiv 4 < n, for i floordiv 4): inside that
  // recursion the atom has the bounds that ranges alone give.
  without_facts_ = true;
  const Interval plain = nonlinear_interval(e);
  without_facts_ = false;
  const size_t position = memo_.size();
  memo_.emplace_back(e.get(), plain);
  const Interval tight = nonlinear_interval(e);
  return memo_[position].second = {std::max(plain.lo, tight.lo), std::min(plain.hi, tight.hi)};
}

Interval Facts::nonlinear_interval(const Expr& e) const {
  switch (e->kind) {
    case ExprKind::kBroadcast: return bounds(as<Broadcast>(e)->value);
    case ExprKind::kRamp: {
      const Ramp* r = as<Ramp>(e);
      const auto stride = as_const_int(r->stride);
      if (!stride) return {};
      Sum sum(0);
      sum.add(bounds(r->base), 1);
      sum.add({0, r->dtype.lanes - 1}, *stride);
      return sum.result();
    }
    case ExprKind::kSelect: {
      const Interval t = bounds(as<Select>(e)->on_true), f = bounds(as<Select>(e)->on_false);
      return {std::min(t.lo, f.lo), std::max(t.hi, f.hi)};
    }
    case ExprKind::kBinary: {
      const Binary* op = as<Binary>(e);
      const auto c = as_const_int(op->b);
      switch (op->op) {
        case BinaryOp::kFloorDiv: {
          if (!c || *c <= 0) return {};
          const Interval a = bounds(op->a);
          return {a.lo == kMin ? kMin : floor_div(a.lo, *c), a.hi == kMax ? kMax : floor_div(a.hi, *c)};
        }
        case BinaryOp::kFloorMod: {
          if (!c || *c <= 0) return {};
          const Interval a = bounds(op->a);
          if (a.lo != kMin && a.hi != kMax && floor_div(a.lo, *c) == floor_div(a.hi, *c))
            return {floor_mod(a.lo, *c), floor_mod(a.hi, *c)};
          return {0, *c - 1};
        }
        case BinaryOp::kMin: {
          const Interval a = bounds(op->a), b = bounds(op->b);
          return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
        }
        case BinaryOp::kMax: {
          const Interval a = bounds(op->a), b = bounds(op->b);
          return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
        }
        case BinaryOp::kMul: {
          const Interval a = bounds(op->a), b = bounds(op->b);
          if (a.lo < 0 || b.lo < 0) return {};
          int64_t hi;
          if (a.hi == kMax || b.hi == kMax || __builtin_mul_overflow(a.hi, b.hi, &hi)) return {};
          return {a.lo * b.lo, hi};
        }
        default: break;
      }
      if (e->dtype.is_bool()) return {0, 1};
      return {};
    }
    case ExprKind::kCast: {
      // A number of few bits is one that its type has, whatever it was computed or read from.
      const DType from = as<Cast>(e)->value->dtype.scalar();
      if (e->dtype.scalar() != kIndex || !from.is_integer() || from.bits >= 64) return {};
      const int64_t half = int64_t{1} << (from.bits - 1);
      return from.code == TypeCode::kInt ? Interval{-half, half - 1} : Interval{0, 2 * half - 1};
    }
    default: return e->dtype.is_bool() ? Interval{0, 1} : Interval{};
  }
}

Interval Facts::interval(const Linear& e) const {
  if (is_one_atom(e)) return atom_interval(e.terms[0].atom);
  Sum sum(e.constant);
  for (const Linear::Term& t : e.terms) sum.add(atom_interval(t.atom), t.coefficient);
  return sum.result();
}

// The largest lower bound found: from intervals, or from a fact f >= 0 scaled to cancel a shared term, e = (e - k f) +
// k f >= e - k f.
int64_t Facts::tightened_lower(const Linear& e, int depth) const {
  const int64_t best = interval(e).lo;
  if (depth == 0 || e.terms.size() > 24) return best;
  return tightened_by(derived_, e, depth, tightened_by(facts_, e, depth, best));
}

int64_t Facts::tightened_by(const std::vector<Linear>& facts, const Linear& e, int depth, int64_t best) const {
  for (const Linear& fact : facts) {
    for (const Linear::Term& t : fact.terms) {
      if (steps_ > steps_allowed_) return best;
      int64_t k = 0;
      steps_ += 1 + static_cast<int64_t>(e.terms.size());
      for (const Linear::Term& u : e.terms)
        if (equal(u.atom, t.atom) && u.coefficient != INT64_MIN && u.coefficient % t.coefficient == 0)
          k = u.coefficient / t.coefficient;
      if (k <= 0) continue;
      steps_ += static_cast<int64_t>(e.terms.size() * fact.terms.size());
      const auto rest = add(e, fact, -k);
      if (rest && rest->terms.size() < e.terms.size() + fact.terms.size())
        best = std::max(best, tightened_lower(*rest, depth - 1));
    }
  }
  return best;
}

// r + k A >= 0 with k < 0, q = A floordiv c   ->   r + k c q >= 0, divided by the common divisor of its coefficients:
// for A >= c q.
void Facts::derive_from(const Linear& fact, const Linear& dividend, int64_t c, const Expr& quotient) const {
  if (dividend.terms.empty() || dividend.constant != 0) return;
  int64_t k = 0;
  for (const Linear::Term& t : fact.terms)
    if (equal(t.atom, dividend.terms[0].atom) && t.coefficient != INT64_MIN &&
        t.coefficient % dividend.terms[0].coefficient == 0)
      k = t.coefficient / dividend.terms[0].coefficient;
  if (k >= 0) return;
  const auto rest = add(fact, dividend, -k);
  if (!rest || rest->terms.size() + dividend.terms.size() != fact.terms.size()) return;
  auto derived = add(*rest, Linear{{{quotient, k}}, 0}, c);
  if (!derived) return;
  int64_t shared = 0;
  for (const Linear::Term& t : derived->terms) {
    if (t.coefficient == INT64_MIN) return;
    shared = std::gcd(shared, t.coefficient);
  }
  if (shared > 1) {
    for (Linear::Term& t : derived->terms) t.coefficient /= shared;
    derived->constant = floor_div(derived->constant, shared);
  }
  derived_.push_back(std::move(*derived));
}

// Facts about the quotients that `e` names, the inner ones first.
void Facts::derive_facts(const Linear& e) const {
  for (const Linear::Term& t : e.terms) {
    const Binary* op = as<Binary>(t.atom);
    const auto c =
        op && (op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod) ? as_const_int(op->b) : std::nullopt;
    const auto dividend = c && *c > 1 ? linear_of(op->a) : std::nullopt;
    if (!dividend || !is_exact(*dividend)) continue;  // a wrapped value has another quotient
    derive_facts(*dividend);
    if (op->op != BinaryOp::kFloorDiv) continue;
    const size_t inner = derived_.size();
    for (const Linear& fact : facts_) derive_from(fact, *dividend, *c, t.atom);
    for (size_t i = 0; i < inner; ++i) derive_from(Linear(derived_[i]), *dividend, *c, t.atom);
  }
}

bool Facts::is_exact(const Linear& e) const {
  if (is_one_atom(e)) return true;
  const bool outer = std::exchange(without_facts_, true);
  const Interval i = interval(e);
  without_facts_ = outer;
  return i.lo != kMin && i.hi != kMax;
}

Interval Facts::bounds(const Linear& e) const {
  const Interval exact = exact_bounds(e);
  // With one end open the exact value may leave int64, and the program's value wraps around past the other end,
  // too.
  return is_one_atom(e) || (exact.lo != kMin && exact.hi != kMax) ? exact : Interval();
}

Interval Facts::exact_bounds(const Linear& e) const {
  if (facts_.empty() || without_facts_) return interval(e);
  const Query query(*this);
  if (query_depth_ == 1) derive_facts(e);
  Linear negated;
  const auto minus = add(negated, e, -1);
  const int64_t lo = tightened_lower(e, 2);
  const int64_t minus_hi = minus ? tightened_lower(*minus, 2) : kMin;
  return {lo, minus_hi == kMin ? kMax : -minus_hi};
}

Interval Facts::bounds(const Expr& e) const {
  if (e->kind == ExprKind::kIntImm || e->kind == ExprKind::kVar) {
    if (facts_.empty() || e->kind == ExprKind::kIntImm) return atom_interval(e);
  }
  if (e->dtype.is_bool()) return {0, 1};
  if (e->dtype.scalar() != kIndex) return {};  // narrower integers wrap around earlier than int64 does
  const auto linear = linear_of(e);
  if (!linear) return {};
  if (is_one_atom(*linear) && facts_.empty()) return atom_interval(linear->terms[0].atom);
  return bounds(*linear);
}

// x floormod c is x - c * (x floordiv c) only where x does not wrap around.
bool Facts::has_exact_dividends(const Linear& form) const {
  return std::all_of(form.terms.begin(), form.terms.end(), [this](const Linear::Term& t) {
    const Binary* op = as<Binary>(t.atom);
    if (!op || op->op != BinaryOp::kFloorMod) return true;
    const auto dividend = linear_of(op->a);
    return dividend && is_exact(*dividend);
  });
}

int Facts::push_nonnegative(const Expr& a, const Expr& b, int64_t offset) {
  if (!is_index(a)) return 0;
  const auto la = linear_of(a), lb = linear_of(b);
  if (!la || !lb || !is_exact(*la) || !is_exact(*lb) || reads_any(*la) || reads_any(*lb)) return 0;
  auto fact = add(*la, *lb, -1);
  if (!fact || __builtin_add_overflow(fact->constant, offset, &fact->constant)) return 0;
  auto joined = without_remainders(*fact);
  const bool joins = joined && has_exact_dividends(*fact);
  facts_.push_back(std::move(*fact));
  if (!joins) return 1;
  facts_.push_back(std::move(*joined));
  return 2;
}

int Facts::push_condition(const Expr& condition) {
  if (const Not* op = as<Not>(condition)) return push_negation(op->value);
  const Binary* op = as<Binary>(condition);
  if (!op) return 0;
  switch (op->op) {
    case BinaryOp::kAnd: {
      const int first = push_condition(op->a);
      return first + push_condition(op->b);
    }
    case BinaryOp::kLt: return push_nonnegative(op->b, op->a, -1);
    case BinaryOp::kLe: return push_nonnegative(op->b, op->a, 0);
    case BinaryOp::kEq: {
      const int first = push_nonnegative(op->a, op->b, 0);
      return first + push_nonnegative(op->b, op->a, 0);
    }
    default: return 0;
  }
}

int Facts::push_negation(const Expr& condition) {
  if (const Not* op = as<Not>(condition)) return push_condition(op->value);
  const Binary* op = as<Binary>(condition);
  if (!op) return 0;
  switch (op->op) {
    case BinaryOp::kOr: {
      const int first = push_negation(op->a);
      return first + push_negation(op->b);
    }
    case BinaryOp::kLt: return push_nonnegative(op->a, op->b, 0);
    case BinaryOp::kLe: return push_nonnegative(op->a, op->b, -1);
    default: return 0;
  }
}

std::optional<Interval> Facts::difference(const Expr& a, const Expr& b) const {
  if (!is_index(a)) return std::nullopt;
  const auto from = linear_of(a), to = linear_of(b);
  if (!from || !to || !is_exact(*from) || !is_exact(*to)) return std::nullopt;
  const auto d = add(*to, *from, -1);
  return d ? std::optional(exact_bounds(*d)) : std::nullopt;
}

std::optional<bool> Facts::decides(const Expr& condition) const {
  if (const IntImm* imm = as<IntImm>(condition)) return imm->value != 0;
  if (const Not* op = as<Not>(condition)) {
    const auto inner = decides(op->value);
    return inner ? std::optional(!*inner) : std::nullopt;
  }
  const Binary* op = as<Binary>(condition);
  if (!op) return std::nullopt;
  if (op->op == BinaryOp::kAnd || op->op == BinaryOp::kOr) {
    const bool deciding = op->op == BinaryOp::kOr;  // the side that decides alone
    const auto a = decides(op->a);
    if (a == deciding) return a;
    const auto b = decides(op->b);
    return b == deciding || (a && b) ? b : std::nullopt;
  }
  if (op->op < BinaryOp::kEq || op->op > BinaryOp::kLe) return std::nullopt;
  const auto d = difference(op->a, op->b);
  if (!d) return std::nullopt;
  const bool apart = d->lo >= 1 || d->hi <= -1, equals = d->lo == 0 && d->hi == 0;
  switch (op->op) {
    case BinaryOp::kLt: return d->lo >= 1 ? std::optional(true) : d->hi <= 0 ? std::optional(false) : std::nullopt;
    case BinaryOp::kLe: return d->lo >= 0 ? std::optional(true) : d->hi <= -1 ? std::optional(false) : std::nullopt;
    case BinaryOp::kEq: return equals ? std::optional(true) : apart ? std::optional(false) : std::nullopt;
    default: return apart ? std::optional(true) : equals ? std::optional(false) : std::nullopt;
  }
}

}  // namespace hone
