#include "compiler/arith/simplify.h"

#include <algorithm>
#include <optional>

#include "compiler/ir/mutator.h"

namespace hone {
namespace {

// int64 arithmetic as the program does it.
int64_t wrapping_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

class Simplifier final : public Mutator {
 public:
  Simplifier() : own_(Facts()), facts_(&*own_) {}
  explicit Simplifier(const Facts& facts) : facts_(&facts) {}

 protected:
  using Mutator::visit;

  Expr visit(const VarNode* op) override {
    const Interval range = facts_->range_of(op);
    return range.is_point() ? make_int(range.lo, op->dtype) : Expr(op);
  }

  Expr visit(const Binary* op) override {
    if (op->dtype.is_vector() || op->a->dtype.is_vector()) return Mutator::visit(op);
    if (op->a->dtype.is_float()) return Mutator::visit(op);
    switch (op->op) {
      case BinaryOp::kAdd:
      case BinaryOp::kSub:
      case BinaryOp::kMul: return linear(op);
      case BinaryOp::kFloorDiv: return floor_div_by(Mutator::visit(op));
      case BinaryOp::kFloorMod: return floor_mod_by(Mutator::visit(op));
      case BinaryOp::kMin:
      case BinaryOp::kMax: return min_max(Mutator::visit(op));
      default: return condition(Mutator::visit(op));
    }
  }

  Expr visit(const Select* op) override {
    const Expr c = (*this)(op->condition);
    if (is_const(c, 1)) return (*this)(op->on_true);
    if (is_const(c, 0)) return (*this)(op->on_false);
    int n = own_facts().push_condition(c);
    Expr t = (*this)(op->on_true);
    own_facts().pop_facts(n);
    n = own_facts().push_negation(c);
    Expr f = (*this)(op->on_false);
    own_facts().pop_facts(n);
    if (c.same_as(op->condition) && t.same_as(op->on_true) && f.same_as(op->on_false)) return Expr(op);
    return select(c, std::move(t), std::move(f));
  }

  Stmt visit(const For* op) override {
    Expr lo = (*this)(op->min), n = (*this)(op->extent);
    const auto extent = as_const_int(n);
    if (extent && *extent <= 0) return make_seq({});
    if (extent && *extent == 1) return (*this)(substitute(op->body, {{op->var.get(), lo}}));
    own_facts().push_loop(op->var.get(), lo, n);
    Stmt body = (*this)(op->body);
    own_facts().pop_range();
    if (const Seq* seq = as<Seq>(body); seq && seq->stmts.empty()) return body;
    if (lo.same_as(op->min) && n.same_as(op->extent) && body.same_as(op->body)) return Stmt(op);
    return make_for(op->var, std::move(lo), std::move(n), op->loop, std::move(body));
  }

  Stmt visit(const If* op) override {
    const Expr c = (*this)(op->condition);
    if (is_const(c, 1)) return (*this)(op->then_case);
    if (is_const(c, 0)) return op->else_case ? (*this)(op->else_case) : make_seq({});
    int n = own_facts().push_condition(c);
    Stmt t = (*this)(op->then_case);
    own_facts().pop_facts(n);
    n = own_facts().push_negation(c);
    Stmt f = (*this)(op->else_case);
    own_facts().pop_facts(n);
    if (const Seq* seq = as<Seq>(t); seq && seq->stmts.empty() && !f) return t;
    if (c.same_as(op->condition) && t.same_as(op->then_case) && f.same_as(op->else_case)) return Stmt(op);
    return make_if(c, std::move(t), std::move(f));
  }

 private:
  // A copy of the facts is made at the first push only: most expressions push none.
  Facts& own_facts() {
    if (!own_) facts_ = &own_.emplace(*facts_);
    return *own_;
  }

  // One linear form for the whole sum: its atoms are simplified, and operations between them are not visited again.
  Expr linear(const Binary* op) {
    if (op->dtype != kIndex) return Mutator::visit(op);
    const Expr e(op);
    Linear form;
    if (!collect(e, 1, &form)) return Mutator::visit(op);
    join_quotients(&form);
    return form.is_written_as(e) ? e : form.to_expr();
  }

  // form += scale * e simplified; false on overflow.
  bool collect(const Expr& e, int64_t scale, Linear* form) {
    const Binary* op = as<Binary>(e);
    if (op && op->op == BinaryOp::kAdd) return collect(op->a, scale, form) && collect(op->b, scale, form);
    if (op && op->op == BinaryOp::kSub)
      return scale != INT64_MIN && collect(op->a, scale, form) && collect(op->b, -scale, form);
    if (op && op->op == BinaryOp::kMul) {
      const auto ca = as_const_int(op->a), cb = as_const_int(op->b);
      int64_t product;
      if (cb) return !__builtin_mul_overflow(*cb, scale, &product) && collect(op->a, product, form);
      if (ca) return !__builtin_mul_overflow(*ca, scale, &product) && collect(op->b, product, form);
      return accumulate(form, Mutator::visit(op), scale);
    }
    return accumulate(form, (*this)(e), scale);
  }

  Expr linear(const Expr& e) {
    auto form = linear_of(e);
    if (!form) return e;
    join_quotients(&*form);
    return form->to_expr();
  }

  // k * (x floormod c) + k * c * (x floordiv c) -> k * x, term by term.
  void join_quotients(Linear* form) {
    for (size_t i = 0; i < form->terms.size(); ++i) {
      const Linear::Term mod = form->terms[i];
      const Binary* op = as<Binary>(mod.atom);
      const auto c = op && op->op == BinaryOp::kFloorMod ? as_const_int(op->b) : std::nullopt;
      int64_t whole;
      if (!c || *c <= 0 || __builtin_mul_overflow(*c, mod.coefficient, &whole)) continue;
      if (std::none_of(form->terms.begin(), form->terms.end(),
                       [&](const Linear::Term& t) { return t.coefficient == whole; }))
        continue;
      const Expr quotient = floor_div_by(floor_div(op->a, *c));
      for (const Linear::Term& t : form->terms) {
        if (t.coefficient != whole || !equal(t.atom, quotient)) continue;
        const auto without = add(*form, Linear{{mod, t}, 0}, -1);
        const auto x = linear_of(op->a);
        const auto joined = without && x ? add(*without, *x, mod.coefficient) : std::nullopt;
        if (!joined) break;
        *form = *joined;
        i = static_cast<size_t>(-1);  // start again: x may join with another term now
        break;
      }
    }
  }

  // Splits `form` into c * quotient + rest, moving every term whose coefficient c divides.
  static void split(const Linear& form, int64_t c, Linear* quotient, Linear* rest) {
    for (const Linear::Term& t : form.terms) {
      if (t.coefficient % c == 0)
        quotient->terms.push_back({t.atom, t.coefficient / c});
      else
        rest->terms.push_back(t);
    }
    quotient->constant = floor_div(form.constant, c);
    rest->constant = floor_mod(form.constant, c);
  }

  // form = unit * high + low with unit > 1 dividing c and 0 <= low < unit, if there is such a unit among the
  // coefficients.
  struct Parts {
    int64_t unit;
    Linear high, low;
  };
  std::optional<Parts> without_low_part(const Linear& form, int64_t c) const {
    for (const Linear::Term& t : form.terms) {
      const int64_t unit = t.coefficient < 0 ? wrapping_sub(0, t.coefficient) : t.coefficient;
      if (unit <= 1 || unit >= c || c % unit != 0) continue;
      Parts parts{unit, {}, {}};
      split(form, unit, &parts.high, &parts.low);
      if (facts_->bounds(parts.low).within(0, unit - 1)) return parts;
    }
    return std::nullopt;
  }

  Expr floor_div_by(const Expr& e) {
    const Binary* op = as<Binary>(e);
    if (!op || op->op != BinaryOp::kFloorDiv || op->dtype != kIndex) return e;
    const auto c = as_const_int(op->b);
    if (!c || *c <= 0) return e;
    // (x floordiv a) floordiv b -> x floordiv (a b)
    if (const Binary* inner = as<Binary>(op->a); inner && inner->op == BinaryOp::kFloorDiv)
      if (const auto a = as_const_int(inner->b); a && *a > 0 && *a <= (int64_t{1} << 31) && *c <= (int64_t{1} << 31))
        return floor_div_by(floor_div(inner->a, make_int(*a * *c)));
    const auto form = linear_of(op->a);
    if (!form || !facts_->is_exact(*form)) return e;  // a wrapped value's quotient is no sum of quotients
    Linear quotient, rest;
    split(*form, *c, &quotient, &rest);
    const Interval range = facts_->bounds(rest);
    if (range.lo == Interval::kMin || range.hi == Interval::kMax) return e;
    if (floor_div(range.lo, *c) == floor_div(range.hi, *c)) {
      quotient.constant += floor_div(range.lo, *c);
      return quotient.to_expr();
    }
    if (const auto common = without_low_part(rest, *c)) {
      // (g*A + r) floordiv (g*k) -> A floordiv k when 0 <= r < g
      return quotient.to_expr() + floor_div_by(floor_div(common->high.to_expr(), make_int(*c / common->unit)));
    }
    if (quotient.terms.empty() && quotient.constant == 0) return e;
    return quotient.to_expr() + floor_div(rest.to_expr(), make_int(*c));
  }

  Expr floor_mod_by(const Expr& e) {
    const Binary* op = as<Binary>(e);
    if (!op || op->op != BinaryOp::kFloorMod || op->dtype != kIndex) return e;
    const auto c = as_const_int(op->b);
    if (!c || *c <= 0) return e;
    const auto form = linear_of(op->a);
    if (!form || !facts_->is_exact(*form)) return e;  // a wrapped value's quotient is no sum of quotients
    Linear quotient, rest;
    split(*form, *c, &quotient, &rest);
    const Interval range = facts_->bounds(rest);
    if (range.lo == Interval::kMin || range.hi == Interval::kMax) return e;
    if (floor_div(range.lo, *c) == floor_div(range.hi, *c)) {
      rest.constant = wrapping_sub(rest.constant, wrapping_mul(floor_div(range.lo, *c), *c));
      return rest.to_expr();
    }
    if (const auto common = without_low_part(rest, *c)) {
      // (g*A + r) floormod (g*k) -> g * (A floormod k) + r when 0 <= r < g
      return linear(floor_mod_by(floor_mod(common->high.to_expr(), make_int(*c / common->unit))) * common->unit +
                    common->low.to_expr());
    }
    if (quotient.terms.empty() && quotient.constant == 0) return e;
    return floor_mod(rest.to_expr(), make_int(*c));
  }

  Expr min_max(const Expr& e) {
    const Binary* op = as<Binary>(e);
    if (!op || (op->op != BinaryOp::kMin && op->op != BinaryOp::kMax)) return e;
    const bool is_min = op->op == BinaryOp::kMin;
    const auto d = facts_->difference(op->a, op->b);
    if (d && d->lo >= 0) return is_min ? op->a : op->b;
    if (d && d->hi <= 0) return is_min ? op->b : op->a;
    return e;
  }

  Expr condition(const Expr& e) {
    if (e->kind == ExprKind::kIntImm || !e->dtype.is_bool()) return e;
    const auto holds = facts_->decides(e);
    return holds ? make_bool(*holds) : e;
  }

  std::optional<Facts> own_;
  const Facts* facts_;
};

}  // namespace

Expr simplify(const Expr& e, const Facts& facts) { return Simplifier(facts)(e); }
Stmt simplify(const Stmt& s) { return Simplifier()(s); }

}  // namespace hone
