#include "compiler/lower/padding.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/queries.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

// Of the remainder of some x by c that index number `d` is: the index that is the quotient, and c.
std::optional<std::pair<size_t, int64_t>> quotient_of(const std::vector<Expr>& indices, size_t d) {
  const Binary* rest = as<Binary>(indices[d]);
  const auto c = rest && rest->op == BinaryOp::kFloorMod ? as_const_int(rest->b) : std::nullopt;
  if (!c || *c <= 0) return std::nullopt;
  const Expr quotient = floor_div(rest->a, *c);
  for (size_t q = 0; q < indices.size(); ++q)
    if (equal(indices[q], quotient)) return std::pair(q, *c);
  return std::nullopt;
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
  const Facts facts = loop_facts(scope);
  std::vector<Reached> out;
  const auto add = [&](Reached r, int64_t last) {
    Interval all{Interval::kMax, Interval::kMin};
    for (const auto& indices : writes) {
      const Expr sum = r.of([&](size_t d) { return indices[d] - region.min[d]; });
      const auto form = linear_of(sum), joined = form ? without_remainders(*form) : std::nullopt;
      Interval one = facts.bounds(sum);
      if (joined) {
        const Interval also = facts.bounds(*joined);
        one = {std::max(one.lo, also.lo), std::min(one.hi, also.hi)};
      }
      all = {std::min(all.lo, one.lo), std::max(all.hi, one.hi)};
    }
    r.range = all;
    if (!writes.empty() && (all.lo > 0 || all.hi < last)) out.push_back(std::move(r));
  };
  for (size_t d = 0; d < region.extent.size(); ++d) add({{{d, 1}}, {}}, region.extent[d] - 1);
  for (size_t d = 0; !writes.empty() && d < region.extent.size(); ++d)
    if (const auto quotient = quotient_of(writes[0], d))
      add({{{quotient->first, quotient->second}, {d, 1}}, {}},
          (region.extent[quotient->first] - 1) * quotient->second + region.extent[d] - 1);
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

Expr value_or_padding(const std::vector<Expr>& inside, Expr value) {
  if (inside.empty()) return value;
  const Expr zero = make_const(0, value->dtype);
  Expr condition = inside[0];
  for (size_t i = 1; i < inside.size(); ++i) condition = logical_and(condition, inside[i]);
  const Select* padded = as<Select>(value);
  if (!padded || !is_zero(padded->on_false) || reads_memory(padded->condition)) return select(condition, value, zero);
  return select(logical_and(condition, padded->condition), padded->on_true, zero);
}

}  // namespace hone
