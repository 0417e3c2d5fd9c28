#include "compiler/lower/padding.h"

#include <algorithm>
#include <cmath>

#include "compiler/arith/simplify.h"
#include "compiler/ir/queries.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

// Two dimensions of an access that are the quotient and the remainder of `whole` by `divisor`.
struct Digits {
  size_t quotient = 0, remainder = 0;
  int64_t divisor = 1;
  Expr whole;
};

std::vector<Digits> digits_of(const std::vector<Expr>& indices, const Facts& facts) {
  std::vector<Digits> out;
  for (size_t d = 0; d < indices.size(); ++d) {
    const Binary* rest = as<Binary>(indices[d]);
    const auto c = rest && rest->op == BinaryOp::kFloorMod ? as_const_int(rest->b) : std::nullopt;
    if (!c || *c <= 0) continue;
    const Expr quotient = simplify(floor_div(rest->a, *c), facts);
    for (size_t q = 0; q < indices.size(); ++q)
      if (equal(indices[q], quotient)) out.push_back({q, d, *c, rest->a});
  }
  return out;
}

int64_t coefficient_in(const Linear& form, const Expr& atom) {
  for (const Linear::Term& t : form.terms)
    if (equal(t.atom, atom)) return t.coefficient;
  return 0;
}

bool is_zero(const Expr& e) {
  const FloatImm* f = as<FloatImm>(e);
  return f ? f->value == 0 && !std::signbit(f->value) : is_const(e, 0);
}

}  // namespace

std::vector<Reached> reached_elements(TreeNode* scope, const Buffer& buffer, const Region& region) {
  const auto writes = accesses_below(scope, buffer, true, false);
  std::vector<Reached> out;
  if (writes.empty()) return out;
  const Facts facts = loop_facts(scope);
  for (size_t d = 0; d < region.extent.size(); ++d) {
    Interval all{Interval::kMax, Interval::kMin};
    for (const auto& indices : writes) {
      const Interval one = facts.bounds(indices[d] - region.min[d]);
      all = {std::min(all.lo, one.lo), std::max(all.hi, one.hi)};
    }
    if (all.lo > 0 || all.hi < region.extent[d] - 1) out.push_back({{{d, 1}}, all});
  }
  for (const Digits& digits : digits_of(writes[0], facts)) {
    const size_t q = digits.quotient, d = digits.remainder;
    const int64_t c = digits.divisor, last = (region.extent[q] - 1) * c + region.extent[d] - 1;
    const Interval range = facts.bounds(digits.whole - region.min[q] * c - region.min[d]);
    if (range.lo > 0 || range.hi < last) out.push_back({{{q, c}, {d, 1}}, range});
  }
  return out;
}

bool element_tells(const Expr& guard, const std::vector<Expr>& indices, const std::vector<const VarNode*>& fixed) {
  const Binary* op = as<Binary>(guard);
  if (!op || (op->op != BinaryOp::kLt && op->op != BinaryOp::kLe)) return false;
  auto rest = linear_of(as_const_int(op->b) ? op->a : op->b);
  std::vector<std::optional<Linear>> forms;
  for (const Expr& index : indices) {
    forms.push_back(linear_of(index));
    if (const auto digits = forms.back() ? without_remainders(*forms.back()) : std::nullopt) forms.back() = digits;
  }
  const auto running = [&](const Linear::Term& t) { return !uses_only(t.atom, fixed); };
  while (rest) {
    const auto t = std::find_if(rest->terms.begin(), rest->terms.end(), running);
    if (t == rest->terms.end()) return true;
    const auto part_of = [&](const std::optional<Linear>& form) {
      const int64_t c = form ? coefficient_in(*form, t->atom) : 0;
      return c > 0 && t->coefficient % c == 0;
    };
    const auto form = std::find_if(forms.begin(), forms.end(), part_of);
    if (form == forms.end()) return false;
    const Linear digit = std::move(**form);
    form->reset();
    rest = add(*rest, digit, -(t->coefficient / coefficient_in(digit, t->atom)));
  }
  return false;
}

bool uses_only(const Expr& e, const std::vector<const VarNode*>& vars) {
  class Others final : public Visitor {
   public:
    explicit Others(const std::vector<const VarNode*>& vars) : vars_(vars) {}
    bool found = false;

   protected:
    using Visitor::visit;
    void visit(const VarNode* op) override { found |= std::find(vars_.begin(), vars_.end(), op) == vars_.end(); }
    void visit(const Load*) override { found = true; }

   private:
    const std::vector<const VarNode*>& vars_;
  } others(vars);
  others(e);
  return !others.found;
}

Expr value_or_padding(const std::vector<Expr>& inside, Expr value, Facts& facts) {
  if (inside.empty()) return value;
  const Expr zero = make_const(0, value->dtype);
  Expr condition = inside[0];
  for (size_t i = 1; i < inside.size(); ++i) condition = logical_and(condition, inside[i]);
  const Select* padded = as<Select>(value);
  if (!padded || !is_zero(padded->on_false) || reads_memory(padded->condition)) return select(condition, value, zero);
  // Inside, quotients and remainders are simpler: proofs of the access need both conditions in terms of the same ones.
  const int n = facts.push_condition(condition);
  const Expr also = simplify(padded->condition, facts);
  facts.pop_facts(n);
  return select(logical_and(condition, also), padded->on_true, zero);
}

}  // namespace hone
