#include "compiler/codegen/gpu/touched.h"

#include <algorithm>

#include "compiler/ir/mutator.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

bool uses(const Linear& form, const VarNode* var) {
  return std::any_of(form.terms.begin(), form.terms.end(),
                     [&](const Linear::Term& t) { return uses_var(t.atom, var); });
}

bool same_position(const Touched::Access& a, const Touched::Access& b) {
  if (a.parts != b.parts || a.turn.has_value() != b.turn.has_value()) return false;
  if (!a.turn) return a.range && b.range && a.range->lo == b.range->lo && a.range->hi == b.range->hi;
  const auto apart = add(*a.turn, *b.turn, -1);
  return apart && apart->is_constant() && apart->constant == 0;
}

bool may_meet(const Touched::Access& a, const Touched::Access& b) {
  if (!a.buffer.same_as(b.buffer)) return false;
  if (a.range && b.range && (a.range->hi < b.range->lo || b.range->hi < a.range->lo)) return false;
  if (!a.turn || !b.turn || a.parts != b.parts) return true;
  const auto apart = add(*a.turn, *b.turn, -1);
  return !apart || !apart->is_constant() || floor_mod(apart->constant, a.parts) == 0;
}

class Collector final : public Visitor {
 public:
  explicit Collector(Facts facts) : facts_(std::move(facts)) {}
  Touched out;

 protected:
  using Visitor::visit;
  void visit(const Load* op) override {
    access(op->buffer, op->indices, false);
    Visitor::visit(op);
  }
  void visit(const Store* op) override {
    access(op->buffer, op->indices, true);
    Visitor::visit(op);
  }
  void visit(const For* op) override {
    (*this)(op->min);
    (*this)(op->extent);
    facts_.push_loop(op->var.get(), op->min, op->extent);
    inside_.push_back(op->var.get());
    (*this)(op->body);
    inside_.pop_back();
    facts_.pop_range();
    out.forget(op->var.get());
  }
  void visit(const Prefetch*) override {}

 private:
  void access(const Buffer& b, const std::vector<Expr>& indices, bool writes) {
    if (b->scope == BufferScope::kStack) return;
    Touched::Access a{b, writes};
    if (b->scope == BufferScope::kShared && indices.size() == 1) find_part(&a, indices[0]);
    out.add(std::move(a));
  }

  // The part of the buffer that `index` stays in, if it is known; `span`: from its first element to its last.
  void find_part(Touched::Access* a, const Expr& index) const {
    const Ramp* ramp = as<Ramp>(index);
    const auto stride = ramp ? as_const_int(ramp->stride) : std::optional<int64_t>(1);
    if (!stride || *stride < 1 || *stride > (int64_t{1} << 32)) return;
    const int64_t span = (index->dtype.lanes - 1) * *stride + 1;
    auto form = linear_of(ramp ? ramp->base : index);
    const auto elements = as_const_int(a->buffer->shape.at(0));
    // Beyond any size of shared memory, the arithmetic below could leave int64.
    constexpr int64_t kMostElements = int64_t{1} << 40;
    if (!form || !elements || *elements > kMostElements) return;
    for (size_t i = 0; i < form->terms.size(); ++i) {
      const Linear::Term term = form->terms[i];
      const Binary* turn = as<Binary>(term.atom);
      const auto parts = turn && turn->op == BinaryOp::kFloorMod ? as_const_int(turn->b) : std::nullopt;
      if (parts && *parts > 1 && *elements % *parts == 0 && term.coefficient == *elements / *parts) {
        if (const auto of_turn = linear_of(turn->a)) set(a, *form, i, *of_turn, *parts, span);
        return;
      }
    }
    if (find_undivided_turn(a, *form, *elements, span)) return;
    // The turn is a constant where a double buffer is filled in front of its loop.
    const Interval range = facts_.bounds(*form);
    if (range.lo >= 0 && range.hi <= *elements - span) a->range = {range.lo, range.hi + span - 1};
  }

  // A loop around with no more iterations than there are parts needs no remainder: turn * part + rest.
  bool find_undivided_turn(Touched::Access* a, Linear form, int64_t elements, int64_t span) const {
    size_t turn = form.terms.size();
    for (size_t i = 0; i < form.terms.size(); ++i) {
      const Linear::Term& term = form.terms[i];
      const VarNode* var = as<VarNode>(term.atom);
      const bool is_around = var && std::find(inside_.begin(), inside_.end(), var) == inside_.end();
      if (is_around && term.coefficient > 0 && term.coefficient < elements && elements % term.coefficient == 0 &&
          (turn == form.terms.size() || term.coefficient > form.terms[turn].coefficient))
        turn = i;
    }
    if (turn == form.terms.size() || form.constant < -elements || form.constant > elements) return false;
    const int64_t part = form.terms[turn].coefficient;
    Linear of_turn;
    of_turn.terms.push_back({form.terms[turn].atom, 1});
    of_turn.constant = floor_div(form.constant, part);
    form.constant -= of_turn.constant * part;
    set(a, form, turn, of_turn, elements / part, span);
    return a->turn.has_value();
  }

  void set(Touched::Access* a, const Linear& form, size_t turn, const Linear& of_turn, int64_t parts,
           int64_t span) const {
    Linear rest;
    rest.constant = form.constant;
    for (size_t i = 0; i < form.terms.size(); ++i)
      if (i != turn) rest.terms.push_back(form.terms[i]);
    const int64_t part = *as_const_int(a->buffer->shape[0]) / parts;
    const Interval range = facts_.bounds(rest);
    if (range.lo < 0 || range.hi > part - span) return;
    a->turn = of_turn;
    a->parts = parts;
  }

  Facts facts_;
  std::vector<const VarNode*> inside_;  // variables of the loops inside of the analysed piece
};

}  // namespace

void Touched::add(const Touched& other) {
  for (const Access& a : other.accesses_) add(a);
}

void Touched::add(Access access) {
  const bool known = std::any_of(accesses_.begin(), accesses_.end(), [&](const Access& a) {
    return a.buffer.same_as(access.buffer) && a.writes == access.writes &&
           ((!a.turn && !a.range) || same_position(a, access));
  });
  if (!known) accesses_.push_back(std::move(access));
}

bool Touched::orders(const Touched& later) const {
  return std::any_of(accesses_.begin(), accesses_.end(), [&](const Access& a) {
    return std::any_of(later.accesses_.begin(), later.accesses_.end(),
                       [&](const Access& b) { return (a.writes || b.writes) && may_meet(a, b); });
  });
}

bool Touched::reads(const Buffer& b) const {
  return std::any_of(accesses_.begin(), accesses_.end(),
                     [&](const Access& a) { return !a.writes && a.buffer.same_as(b); });
}

bool Touched::writes(const Buffer& b) const {
  return std::any_of(accesses_.begin(), accesses_.end(),
                     [&](const Access& a) { return a.writes && a.buffer.same_as(b); });
}

bool Touched::all_in_part(const Buffer& b, bool writes, const VarNode* var, int64_t ahead, int64_t parts) const {
  return std::all_of(accesses_.begin(), accesses_.end(), [&](const Access& a) {
    return !a.buffer.same_as(b) || a.writes != writes ||
           (a.turn && a.parts == parts && a.turn->constant == ahead && a.turn->terms.size() == 1 &&
            a.turn->terms[0].coefficient == 1 && as<VarNode>(a.turn->terms[0].atom) == var);
  });
}

void Touched::shift(const VarNode* var) {
  for (Access& a : accesses_) {
    if (!a.turn) continue;
    const int64_t step = a.turn->coefficient_of(var);
    for (const Linear::Term& t : a.turn->terms)
      if (!as<VarNode>(t.atom) && uses_var(t.atom, var)) {
        a.turn.reset();
        break;
      }
    if (a.turn) a.turn->constant -= step;
  }
}

void Touched::forget(const VarNode* var) {
  for (Access& a : accesses_)
    if (a.turn && uses(*a.turn, var)) a.turn.reset();
}

Touched touched_by(const Stmt& s, Facts facts) {
  Collector collector(std::move(facts));
  collector(s);
  return std::move(collector.out);
}

}  // namespace hone
