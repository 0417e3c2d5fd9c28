#include "compiler/arith/access_proof.h"

#include <algorithm>
#include <cstdlib>

namespace hone {
namespace {

// More nodes, levels and facts than any template makes, and enough steps for ten thousand accesses of a real program.
// They bound how long the verifier runs on a program that came from the network.
constexpr int kMaxNodes = 400, kMaxNesting = 8, kMaxFacts = 32;
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
    case ExprKind::kBinary:
      add(as<Binary>(e)->a);
      add(as<Binary>(e)->b);
      break;
    case ExprKind::kNot: add(as<Not>(e)->value); break;
    case ExprKind::kSelect:
      add(as<Select>(e)->condition);
      add(as<Select>(e)->on_true);
      add(as<Select>(e)->on_false);
      break;
    case ExprKind::kLoad:
      for (const Expr& i : as<Load>(e)->indices) add(i);
      break;
    case ExprKind::kRamp:
      add(as<Ramp>(e)->base);
      add(as<Ramp>(e)->stride);
      break;
    case ExprKind::kBroadcast: add(as<Broadcast>(e)->value); break;
    case ExprKind::kCall:
      for (const Expr& a : as<Call>(e)->args) add(a);
      break;
    default: break;
  }
  return n;
}

// Forms of `fact` whose remainders are joined with their quotients, as an index may have them: all remainders joined,
// and each alone.
std::vector<Linear> joined_forms(const Linear& fact) {
  std::vector<Linear> out;
  auto all = without_remainders(fact);
  if (!all) return out;
  out.push_back(std::move(*all));
  for (const Linear::Term& t : fact.terms) {
    const Linear term{{t}, 0};
    const auto joined = without_remainders(term);
    const auto rest = joined ? add(fact, term, -1) : std::nullopt;
    auto one = rest ? add(*rest, *joined) : std::nullopt;
    if (one && !rest->terms.empty() && without_remainders(*rest)) out.push_back(std::move(*one));
  }
  return out;
}

// floormod(min(max(x, c), d), n) of an element x of memory: an index that a template has made safe. It lies in 0 .. n -
// 1 whatever memory says, and there is no arithmetic inside that could wrap.
bool is_clamped_element(const Expr& e) {
  const auto operand = [](const Expr& from, BinaryOp op) -> Expr {
    const Binary* b = as<Binary>(from);
    return b && b->op == op && is_scalar_index(b->a) && as_const_int(b->b) ? b->a : nullptr;
  };
  const Binary* remainder = as<Binary>(e);
  if (!remainder || as_const_int(remainder->b).value_or(0) <= 0) return false;
  const Expr least = operand(e, BinaryOp::kFloorMod), most = least ? operand(least, BinaryOp::kMin) : nullptr,
             element = most ? operand(most, BinaryOp::kMax) : nullptr;
  if (!element) return false;
  const Cast* widened = as<Cast>(element);
  const ExprKind kind = (widened ? widened->value : element)->kind;
  return kind == ExprKind::kLoad || kind == ExprKind::kVar;  // a vector's lane of an element is an unknown variable
}

// The quotients of variables that occur in `facts`, without duplicates.
std::vector<Expr> quotients_of(const std::vector<Linear>& facts) {
  std::vector<Expr> out;
  for (const Linear& fact : facts)
    for (const Linear::Term& t : fact.terms) {
      const Binary* op = as<Binary>(t.atom);
      const bool is_new = op && op->op == BinaryOp::kFloorDiv && op->a->kind == ExprKind::kVar &&
                          std::none_of(out.begin(), out.end(), [&](const Expr& other) { return equal(other, t.atom); });
      if (is_new) out.push_back(t.atom);
    }
  return out;
}

}  // namespace

bool AccessProver::is_small(const Expr& e) {
  if (steps_ + facts_.steps() > kMaxSteps) return false;
  const int n = count_nodes(e, kMaxNodes);
  steps_ += n + int64_t{n} * n / 8;  // linear forms compare every pair of terms
  return n < kMaxNodes;
}

// True when the linear forms of `e` and of everything inside it are exact: then facts, which are exact, hold for the
// program's own values. Clamped elements of memory are numbers known only by their range; an index may have them
// (`elements_too`), a fact never has.
bool AccessProver::is_exact(const Expr& e, int nesting, bool elements_too) {
  if (nesting > kMaxNesting) return false;
  const auto form = linear_of(e);
  if (!form || !is_bounded(ranges_.bounds(*form))) return false;
  for (const Linear::Term& t : form->terms) {
    if (t.atom->kind == ExprKind::kVar || (elements_too && is_clamped_element(t.atom))) continue;
    const Binary* op = as<Binary>(t.atom);
    if (!op || !is_scalar_index(op->a) || !is_exact(op->a, nesting + 1, elements_too) ||
        !is_exact(op->b, nesting + 1, elements_too))
      return false;
  }
  return true;
}

Interval AccessProver::bounds(const Expr& e) {
  if (!is_small(e)) return {};
  const Interval plain = ranges_.bounds(e);
  if (known_.empty() || !is_exact(e, 0, true)) return plain;
  const Interval tight = facts_.bounds(e);
  return {std::max(plain.lo, tight.lo), std::min(plain.hi, tight.hi)};
}

void AccessProver::push_range(const VarNode* var, Interval range, Scope* scope) {
  ranges_.push_range(var, range.lo, range.hi);
  facts_.push_range(var, range.lo, range.hi);
  ++scope->ranges;
}

// a <= b.
void AccessProver::add_fact(const Expr& a, const Expr& b, Scope* scope) {
  if (!is_scalar_index(a) || known_.size() >= kMaxFacts || !is_small(a) || !is_small(b) || !is_exact(a, 0, false) ||
      !is_exact(b, 0, false))
    return;
  const auto from = linear_of(a), to = linear_of(b);
  const auto fact = from && to ? add(*to, *from, -1) : std::nullopt;
  if (!fact) return;
  add_fact(*fact, scope);
  add_rounded(*fact, scope);
  for (Linear& joined : joined_forms(*fact)) add_fact(std::move(joined), scope);
  if (auto of_dividend = bound_on_dividend(*fact)) add_fact(std::move(*of_dividend), scope);
  tighten_ranges(scope);
}

// fact >= 0, whose atoms are exact.
void AccessProver::add_fact(Linear fact, Scope* scope) {
  if (known_.size() >= kMaxFacts) return;
  facts_.push_fact(fact);
  known_.push_back(std::move(fact));
  ++scope->facts;
}

// 32 q + 16 i + n < 70 with n >= 0 gives 2 q + i <= 4: one such fact for each factor that several terms share.
void AccessProver::add_rounded(const Linear& fact, Scope* scope) {
  std::vector<int64_t> tried;
  for (const Linear::Term& t : fact.terms) {
    if (t.coefficient == INT64_MIN) continue;
    const int64_t factor = std::abs(t.coefficient);
    if (factor < 2 || std::find(tried.begin(), tried.end(), factor) != tried.end()) continue;
    tried.push_back(factor);
    Linear shared, rest;
    rest.constant = fact.constant;
    for (const Linear::Term& u : fact.terms) {
      if (u.coefficient % factor == 0)
        shared.terms.push_back({u.atom, u.coefficient / factor});
      else
        rest.terms.push_back(u);
    }
    // tighten_ranges handles facts about one variable.
    const bool is_range = shared.terms.size() == 1 && shared.terms[0].atom->kind == ExprKind::kVar;
    const int64_t most = ranges_.bounds(rest).hi;
    if (is_range || most == Interval::kMax || most == Interval::kMin) continue;
    shared.constant = floor_div(most, factor);
    add_fact(std::move(shared), scope);
  }
}

// 64 i + n < 512 with n >= 0 gives i <= 7: a sum of scaled facts does not see that it rounds down.
void AccessProver::tighten_ranges(Scope* scope) {
  constexpr int kRounds = 3;  // one fact may sharpen another
  bool changed = true;
  for (int round = 0; round < kRounds && changed; ++round) {
    changed = false;
    for (const Linear& fact : known_) {
      steps_ += static_cast<int64_t>(fact.terms.size() * fact.terms.size());
      for (const Linear::Term& t : fact.terms) {
        const VarNode* var = as<VarNode>(t.atom);
        if (!var || t.coefficient == INT64_MIN) continue;
        // coefficient * var >= -(the rest), and the rest is at most `most`.
        Linear rest;
        rest.constant = fact.constant;
        for (const Linear::Term& other : fact.terms)
          if (&other != &t) rest.terms.push_back(other);
        const int64_t most = ranges_.bounds(rest).hi;
        if (most == Interval::kMax || most == Interval::kMin) continue;
        Interval range = ranges_.range_of(var);
        if (t.coefficient > 0) {
          const int64_t lo = ceil_div(-most, t.coefficient);
          if (lo <= range.lo) continue;
          range.lo = lo;
        } else {
          const int64_t hi = floor_div(most, -t.coefficient);
          if (hi >= range.hi) continue;
          range.hi = hi;
        }
        push_range(var, range, scope);
        changed = true;
      }
    }
  }
}

void AccessProver::add_facts(const Expr& condition, bool truth, Scope* scope) {
  if (const Not* op = as<Not>(condition)) return add_facts(op->value, !truth, scope);
  const Binary* op = as<Binary>(condition);
  if (!op || op->dtype != boolean) return;
  const auto less = [&](const Expr& a, const Expr& b) {  // a < b
    if (is_scalar_index(a)) add_fact(Expr(new Binary(BinaryOp::kAdd, kIndex, a, make_int(1))), b, scope);
  };
  switch (op->op) {
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
      if (truth != (op->op == BinaryOp::kAnd)) return;
      add_facts(op->a, truth, scope);
      return add_facts(op->b, truth, scope);
    case BinaryOp::kLt: return truth ? less(op->a, op->b) : add_fact(op->b, op->a, scope);
    case BinaryOp::kLe: return truth ? add_fact(op->a, op->b, scope) : less(op->b, op->a);
    case BinaryOp::kEq:
    case BinaryOp::kNe:
      if (truth != (op->op == BinaryOp::kEq)) return;
      add_fact(op->a, op->b, scope);
      return add_fact(op->b, op->a, scope);
    default: return;
  }
}

AccessProver::Scope AccessProver::push_variable(const VarNode* var, const Interval& range) {
  Scope scope;
  push_range(var, range, &scope);
  return scope;
}

AccessProver::Scope AccessProver::push_condition(const Expr& condition, bool truth) {
  Scope scope;
  scope.doubts = 1;
  ++doubts_;
  add_facts(condition, truth, &scope);
  return scope;
}

AccessProver::Scope AccessProver::push_loop(const VarNode* var, const Expr& min, const Expr& extent) {
  Scope scope;
  const Interval lo = bounds(min), n = bounds(extent);
  int64_t last;
  Interval range;
  // The body runs only where the extent is at least 1; var = min + k does not wrap when both ends are inside int64.
  if (is_bounded(lo) && is_bounded(n) && !__builtin_add_overflow(lo.hi, std::max<int64_t>(n.hi, 1) - 1, &last))
    range = {lo.lo, last};
  push_range(var, range, &scope);
  scope.loops = 1;
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
  if (!lo.is_point()) add_fact(min, v, &scope);
  const auto below = [&](const Expr& some_extent) {
    const Expr end(new Binary(BinaryOp::kAdd, kIndex, min, some_extent));
    add_fact(Expr(new Binary(BinaryOp::kAdd, kIndex, v, make_int(1))), end, &scope);
  };
  const Binary* least = as<Binary>(extent);
  if (least && least->op == BinaryOp::kMin) {
    below(least->a);
    below(least->b);
  } else {
    below(extent);
  }
  return scope;
}

void AccessProver::pop(const Scope& scope) {
  facts_.pop_facts(scope.facts);
  known_.resize(known_.size() - static_cast<size_t>(scope.facts));
  doubts_ -= scope.doubts;
  for (int i = 0; i < scope.ranges; ++i) {
    ranges_.pop_range();
    facts_.pop_range();
  }
  if (scope.loops) attained_.pop_back();
}

// The ends of the range of `e` when both are certainly reached: a linear form over loops that run through constant
// ranges. Else empty.
Interval AccessProver::attained(const Expr& e) const {
  constexpr Interval kNone{1, 0};
  const auto form = linear_of(e);
  if (!form) return kNone;
  for (const Linear::Term& t : form->terms)
    if (std::find(attained_.begin(), attained_.end(), t.atom.get()) == attained_.end()) return kNone;
  const Interval i = ranges_.bounds(*form);
  return is_bounded(i) ? i : kNone;
}

// The lower end of `e`: e = (e - k fact) + k fact >= e - k fact, as long as that helps. Facts::bounds tries pairs of
// facts only; this takes up to kMostFacts, because joined axes are bounded by all their facts together. A beam search:
// each step keeps the `kept_a_step` forms with the highest lower ends.
int64_t AccessProver::lower_end(const Linear& e, size_t kept_a_step) {
  constexpr int kMostFacts = 8;
  struct Candidate {
    Linear form;
    int64_t lo;
  };
  std::vector<Candidate> kept{{e, ranges_.exact_bounds(e).lo}};
  int64_t best = facts_.exact_bounds(e).lo;
  for (int used = 0; used < kMostFacts && best < 0 && steps_ < kMaxSteps; ++used) {
    std::vector<Candidate> next;
    for (const Candidate& from : kept) {
      for (const Linear& fact : known_) {
        steps_ += static_cast<int64_t>(from.form.terms.size() * fact.terms.size());
        for (const Linear::Term& t : fact.terms) {
          for (const Linear::Term& u : from.form.terms) {
            if (u.coefficient == INT64_MIN || u.coefficient % t.coefficient != 0 ||
                u.coefficient / t.coefficient <= 0 || !equal(u.atom, t.atom))
              continue;
            auto rest = add(from.form, fact, -(u.coefficient / t.coefficient));
            if (!rest) continue;
            const int64_t lo = ranges_.exact_bounds(*rest).lo;
            const auto position =
                std::find_if(next.begin(), next.end(), [&](const Candidate& c) { return c.lo <= lo; });
            // Different combinations mostly give a form that was found before.
            const bool is_known =
                position != next.end() && position->lo == lo && position->form.terms.size() == rest->terms.size();
            if (lo == Interval::kMin || is_known || (position == next.end() && next.size() >= kept_a_step)) continue;
            next.insert(position, {std::move(*rest), lo});
            if (next.size() > kept_a_step) next.pop_back();
          }
        }
      }
    }
    for (const Candidate& c : next) {
      best = std::max(best, facts_.exact_bounds(c.form).lo);
      if (best >= 0) break;
    }
    if (next.empty()) break;
    kept = std::move(next);
  }
  return best;
}

// 0 <= form < extent by the facts, where `found` does not say so already. The arithmetic is exact.
bool AccessProver::is_inside(const Linear& form, int64_t extent, const Interval& found) {
  // A narrow search first: it is a quarter of the work, and proves nearly everything.
  return is_inside(form, extent, found, 3) || is_inside(form, extent, found, 12);
}

bool AccessProver::is_inside(const Linear& form, int64_t extent, const Interval& found, size_t kept_a_step) {
  const auto inside = [&](const std::optional<Linear>& some) {
    Linear end;
    end.constant = extent - 1;
    const auto room = some ? add(end, *some, -1) : std::nullopt;
    return room && (found.lo >= 0 || lower_end(*some, kept_a_step) >= 0) &&
           (found.hi < extent || lower_end(*room, kept_a_step) >= 0);
  };
  if (inside(form) || inside(without_remainders(form))) return true;
  std::optional<Linear> all;
  for (const Expr& quotient : quotients_of(known_)) {
    auto one = with_digits(all ? *all : form, quotient);
    if (!one) continue;
    if (inside(one)) return true;
    all = std::move(one);
  }
  return false;
}

namespace {

Linear with_constant(const Linear& form, int64_t constant) {
  Linear out = form;
  out.constant = constant;
  return out;
}

}  // namespace

bool AccessProver::ranges_prove_inside(const Linear& form, int64_t lo, int64_t hi, int64_t extent) const {
  const Interval low = ranges_.bounds(with_constant(form, lo)), high = ranges_.bounds(with_constant(form, hi));
  return is_bounded(low) && is_bounded(high) && low.lo >= 0 && high.hi < extent;
}

bool AccessProver::proves_inside(const Linear& form, int64_t lo, int64_t hi, int64_t extent) {
  if (ranges_prove_inside(form, lo, hi, extent)) return true;
  const Linear first = with_constant(form, lo), last = with_constant(form, hi);
  const Interval low = ranges_.bounds(first), high = ranges_.bounds(last);
  if (known_.empty() || !is_bounded(low) || !is_bounded(high)) return false;
  const Expr e = first.to_expr();
  if (!is_small(e) || !is_exact(e, 0, true)) return false;
  // The first access needs its lower end proved only, the last one its upper end only.
  return is_inside(first, extent, {low.lo, -1}) && is_inside(last, extent, {0, high.hi});
}

AccessProver::Verdict AccessProver::check(const Expr& index, int64_t extent) {
  if (!is_small(index)) return Verdict::kUnproved;
  if (ranges_.bounds(index).within(0, extent - 1)) return Verdict::kProved;
  const Interval found = bounds(index);
  if (found.within(0, extent - 1)) return Verdict::kProved;
  if (!known_.empty() && is_exact(index, 0, true)) {
    const auto form = linear_of(index);
    if (form && is_inside(*form, extent, found)) return Verdict::kProved;
  }
  if (doubts_ > 0) return Verdict::kUnproved;
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
