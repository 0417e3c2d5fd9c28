#include "compiler/arith/linear.h"

namespace hone {

bool equal(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  if (!a || !b || a->kind != b->kind || a->dtype != b->dtype) return false;
  const auto all_equal = [](const std::vector<Expr>& x, const std::vector<Expr>& y) {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!equal(x[i], y[i])) return false;
    return true;
  };
  switch (a->kind) {
    case ExprKind::kIntImm: return as<IntImm>(a)->value == as<IntImm>(b)->value;
    case ExprKind::kFloatImm: return as<FloatImm>(a)->value == as<FloatImm>(b)->value;
    case ExprKind::kVar: return false;
    case ExprKind::kCast: return equal(as<Cast>(a)->value, as<Cast>(b)->value);
    case ExprKind::kBinary: {
      const Binary *x = as<Binary>(a), *y = as<Binary>(b);
      return x->op == y->op && equal(x->a, y->a) && equal(x->b, y->b);
    }
    case ExprKind::kNot: return equal(as<Not>(a)->value, as<Not>(b)->value);
    case ExprKind::kSelect: {
      const Select *x = as<Select>(a), *y = as<Select>(b);
      return equal(x->condition, y->condition) && equal(x->on_true, y->on_true) && equal(x->on_false, y->on_false);
    }
    case ExprKind::kLoad:
      return as<Load>(a)->buffer.same_as(as<Load>(b)->buffer) && all_equal(as<Load>(a)->indices, as<Load>(b)->indices);
    case ExprKind::kRamp:
      return equal(as<Ramp>(a)->base, as<Ramp>(b)->base) && equal(as<Ramp>(a)->stride, as<Ramp>(b)->stride);
    case ExprKind::kBroadcast: return equal(as<Broadcast>(a)->value, as<Broadcast>(b)->value);
    case ExprKind::kCall:
      return as<Call>(a)->function == as<Call>(b)->function && all_equal(as<Call>(a)->args, as<Call>(b)->args);
  }
  return false;
}

namespace {

bool add_term(Linear* out, const Expr& atom, int64_t coefficient) {
  if (coefficient == 0) return true;
  const bool by_identity = atom->kind == ExprKind::kVar;
  for (size_t i = 0; i < out->terms.size(); ++i) {
    Linear::Term& t = out->terms[i];
    if (by_identity ? !t.atom.same_as(atom) : !equal(t.atom, atom)) continue;
    if (__builtin_add_overflow(t.coefficient, coefficient, &t.coefficient)) return false;
    if (t.coefficient == 0) out->terms.erase(out->terms.begin() + static_cast<ptrdiff_t>(i));
    return true;
  }
  out->terms.push_back({atom, coefficient});
  return true;
}

// True when `e` is atom * coefficient, as Linear writes it.
bool is_term(const Expr& e, const Linear::Term& t) {
  if (t.coefficient == 1) return e.same_as(t.atom);
  const Binary* op = as<Binary>(e);
  return op && op->op == BinaryOp::kMul && op->a.same_as(t.atom) && is_const(op->b, t.coefficient);
}

}  // namespace

bool accumulate(Linear* out, const Expr& e, int64_t scale) {
  if (const IntImm* imm = as<IntImm>(e)) {
    int64_t product;
    return !__builtin_mul_overflow(imm->value, scale, &product) &&
           !__builtin_add_overflow(out->constant, product, &out->constant);
  }
  if (const Binary* op = as<Binary>(e)) {
    switch (op->op) {
      case BinaryOp::kAdd: return accumulate(out, op->a, scale) && accumulate(out, op->b, scale);
      case BinaryOp::kSub: return scale != INT64_MIN && accumulate(out, op->a, scale) && accumulate(out, op->b, -scale);
      case BinaryOp::kMul: {
        const auto ca = as_const_int(op->a), cb = as_const_int(op->b);
        int64_t product;
        if (cb) return !__builtin_mul_overflow(*cb, scale, &product) && accumulate(out, op->a, product);
        if (ca) return !__builtin_mul_overflow(*ca, scale, &product) && accumulate(out, op->b, product);
        break;
      }
      default: break;
    }
  }
  return add_term(out, e, scale);
}

int64_t Linear::coefficient_of(const VarNode* var) const {
  for (const Term& t : terms)
    if (t.atom.get() == var) return t.coefficient;
  return 0;
}

Expr Linear::to_expr() const {
  Expr sum;
  for (const Term& t : terms) {
    if (!sum)
      sum = t.atom * t.coefficient;
    else
      sum = t.coefficient == -1 ? sum - t.atom : sum + t.atom * t.coefficient;
  }
  if (!sum) return make_int(constant);
  return constant < 0 && constant != INT64_MIN ? sum - make_int(-constant) : sum + make_int(constant);
}

bool Linear::is_written_as(const Expr& e) const {
  if (terms.empty()) return is_const(e, constant);
  const Expr* rest = &e;  // the sum without the parts taken off so far, last part first
  const auto last = [&](BinaryOp op) -> const Expr* {
    const Binary* sum = as<Binary>(*rest);
    if (!sum || sum->op != op) return nullptr;
    rest = &sum->a;
    return &sum->b;
  };
  if (constant != 0) {
    const bool negative = constant < 0 && constant != INT64_MIN;
    const Expr* part = last(negative ? BinaryOp::kSub : BinaryOp::kAdd);
    if (!part || !is_const(*part, negative ? -constant : constant)) return false;
  }
  for (size_t i = terms.size(); i-- > 1;) {
    const bool minus = terms[i].coefficient == -1;
    const Expr* part = last(minus ? BinaryOp::kSub : BinaryOp::kAdd);
    if (!part || !(minus ? part->same_as(terms[i].atom) : is_term(*part, terms[i]))) return false;
  }
  return is_term(*rest, terms[0]);
}

std::optional<Linear> linear_of(const Expr& e) {
  Linear out;
  if (!accumulate(&out, e, 1)) return std::nullopt;
  return out;
}

std::optional<Linear> add(const Linear& a, const Linear& b, int64_t scale) {
  Linear out = a;
  int64_t product;
  if (__builtin_mul_overflow(b.constant, scale, &product) ||
      __builtin_add_overflow(out.constant, product, &out.constant))
    return std::nullopt;
  for (const Linear::Term& t : b.terms) {
    if (__builtin_mul_overflow(t.coefficient, scale, &product) || !add_term(&out, t.atom, product)) return std::nullopt;
  }
  return out;
}

std::optional<Linear> without_remainders(const Linear& form) {
  std::optional<Linear> out;
  for (const Linear::Term& t : form.terms) {
    const Binary* op = as<Binary>(t.atom);
    const auto c = op && op->op == BinaryOp::kFloorMod && op->dtype == kIndex ? as_const_int(op->b) : std::nullopt;
    if (!c || *c <= 0) continue;
    const auto x = linear_of(op->a), quotient = linear_of(floor_div(op->a, *c));
    const auto remainder = x && quotient ? add(*x, *quotient, -*c) : std::nullopt;
    const auto change = remainder ? add(*remainder, Linear{{{t.atom, 1}}, 0}, -1) : std::nullopt;
    out = change ? add(out ? *out : form, *change, t.coefficient) : std::nullopt;
    if (!out) return out;
  }
  return out;
}

std::optional<Linear> with_digits(const Linear& form, const Expr& quotient) {
  const Binary* op = as<Binary>(quotient);
  const VarNode* v = op && op->op == BinaryOp::kFloorDiv ? as<VarNode>(op->a) : nullptr;
  const auto c = v ? as_const_int(op->b) : std::nullopt;
  const int64_t k = c && *c > 0 ? form.coefficient_of(v) : 0;
  if (k == 0) return std::nullopt;
  const Linear digits{{{quotient, *c}, {floor_mod(op->a, *c), 1}, {op->a, -1}}, 0};
  return add(form, digits, k);
}

std::optional<Linear> bound_on_dividend(const Linear& form) {
  for (const Linear::Term& t : form.terms) {
    const Binary* op = as<Binary>(t.atom);
    const auto c = op && op->op == BinaryOp::kFloorDiv && op->dtype == kIndex ? as_const_int(op->b) : std::nullopt;
    if (!c || *c <= 0) continue;
    const auto x = linear_of(op->a), rest = add(form, Linear{{{t.atom, 1}}, 0}, -t.coefficient);
    const auto scaled = rest ? add(Linear{}, *rest, *c) : std::nullopt;
    auto out = x && scaled ? add(*scaled, *x, t.coefficient) : std::nullopt;
    // c * (x floordiv c) lies within x - (c - 1) and x.
    int64_t rounding = 0;
    if (!out || (t.coefficient < 0 && (__builtin_mul_overflow(t.coefficient, 1 - *c, &rounding) ||
                                       __builtin_add_overflow(out->constant, rounding, &out->constant))))
      return std::nullopt;
    return out;
  }
  return std::nullopt;
}

}  // namespace hone
