// for i unroll: if (8*t + i < n) S(i)
// ->
// if (8*t + 7 < n) for i unroll: S(i)
// else             for i unroll: if (8*t + i < n) S(i)
//
// where t is known at run time only: all but the last tile take the first branch.
#include <algorithm>

#include "compiler/arith/bounds.h"
#include "compiler/codegen/legalize/conditions.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

// A second version is worth its size where conditions guard at least this share of the stores, one by one.
constexpr int64_t kShareOfWork = 4;
constexpr int64_t kMaxGuarded = 64;
constexpr int64_t kMaxStatements = 4096;  // stores that versions may add to a kernel, after unrolling

// Where a condition stands: the loops around the tile, and the tile's unrolled and vector loops around the condition.
class TilePosition {
 public:
  /// `around`: the ranges of `outer`; the last one is the loop of tiles.
  TilePosition(const std::vector<const ExprNode*>& outer, const Facts& around) : outer_(outer), facts_(around) {}

  void enter(const For* op) {
    const auto lo = as_const_int(op->min), n = as_const_int(op->extent);
    const bool copied = op->loop == LoopKind::kUnroll || op->loop == LoopKind::kVectorize;
    is_tile_.push_back(copied && lo && *lo == 0 && n && *n > 0);
    if (is_tile_.back()) inner_.push_back(op->var.get());
    facts_.push_loop(op->var.get(), op->min, op->extent);
  }
  void leave() {
    facts_.pop_range();
    if (is_tile_.back()) inner_.pop_back();
    is_tile_.pop_back();
  }

  // The condition outside of the tile under which `condition` holds in the whole tile; null when nothing known there
  // implies it. Only exact arithmetic may be taken apart: the parts of a sum that wraps around say nothing.
  Expr test_of(const Expr& condition) const {
    if (!is_index_arithmetic(condition)) return Expr();
    const Binary* sides = as<Binary>(condition);
    const auto form = nonnegative_form(condition);
    if (!form || !is_exact(sides->a) || !is_exact(sides->b) || !facts_.is_exact(*form)) return Expr();
    Linear known, rest;
    for (const Linear::Term& t : form->terms) {
      const bool inside = uses_only(t.atom, inner_);
      if (!inside && !uses_only(t.atom, outer_)) return Expr();
      (inside ? rest : known).terms.push_back(t);
    }
    const auto of_this_loop = [&](const Linear::Term& t) {
      return uses_var(t.atom, static_cast<const VarNode*>(outer_.back()));
    };
    if (std::none_of(known.terms.begin(), known.terms.end(), of_this_loop)) return Expr();
    const int64_t least = facts_.bounds(rest).lo;
    if (least == Interval::kMin || __builtin_add_overflow(form->constant, least, &known.constant) ||
        !facts_.is_exact(known))
      return Expr();
    return ge(known.to_expr(), int64_t{0});
  }

 private:
  bool is_exact(const Expr& e) const {
    const auto form = linear_of(e);
    return form && facts_.is_exact(*form);
  }

  static bool uses_only(const Expr& e, const std::vector<const ExprNode*>& allowed) {
    class Vars final : public Visitor {
     public:
      explicit Vars(const std::vector<const ExprNode*>& allowed) : allowed_(allowed) {}
      bool holds = true;

     protected:
      using Visitor::visit;
      void visit(const VarNode* op) override {
        holds = holds && std::find(allowed_.begin(), allowed_.end(), op) != allowed_.end();
      }

     private:
      const std::vector<const ExprNode*>& allowed_;
    } vars(allowed);
    vars(e);
    return vars.holds;
  }

  const std::vector<const ExprNode*>& outer_;
  std::vector<const ExprNode*> inner_;
  std::vector<bool> is_tile_;  // for each inner loop, whether it is in `inner_`
  Facts facts_;
};

bool holds_test(const std::vector<Expr>& tests, const Expr& test) {
  return std::any_of(tests.begin(), tests.end(), [&](const Expr& other) { return equal(other, test); });
}

// Whether the conditions of `op` count: one around many statements, or around loops, costs nothing as a branch.
bool is_guard(const If* op) {
  return size_of(op->then_case).run <= kMaxGuarded && !op->else_case && !has_loop(op->then_case);
}
bool is_guard(const Select* op) { return op->condition->dtype.lanes == 1; }

// Conditions in the body of the loop of tiles that depend on its variable, on those around it, and on unrolled and
// vector loops inside.
class TileConditions final : public Visitor {
 public:
  explicit TileConditions(TilePosition position) : position_(std::move(position)) {}
  std::vector<Expr> tests;  // tests under which all of them hold
  int64_t guarded = 0;      // stores behind conditions, in one run of the body

 protected:
  using Visitor::visit;
  void visit(const For* op) override {
    const auto n = as_const_int(op->extent);
    const int64_t outer = times_;
    if (n && *n > 0 && op->loop != LoopKind::kVectorize) times_ = saturating_product(times_, *n);
    position_.enter(op);
    Visitor::visit(op);
    position_.leave();
    times_ = outer;
  }
  void visit(const If* op) override {
    if (is_guard(op)) add(op->condition, size_of(op->then_case).run);
    Visitor::visit(op);
  }
  void visit(const Select* op) override {
    if (is_guard(op)) add(op->condition, 1);
    Visitor::visit(op);
  }

 private:
  void add(const Expr& condition, int64_t stores) {
    bool found = false;
    for (const Expr& part : conjuncts(condition)) {
      const Expr test = position_.test_of(part);
      if (!test) continue;
      found = true;
      if (!holds_test(tests, test)) tests.push_back(test);
    }
    if (found) guarded = saturating_sum(guarded, saturating_product(times_, stores));
  }

  TilePosition position_;
  int64_t times_ = 1;
};

// Drops the conditions that `tests` make hold where they stand: a node may stand in several places, and hold in only
// one of them.
class Assume final : public Mutator {
 public:
  Assume(TilePosition position, const std::vector<Expr>& tests) : position_(std::move(position)), tests_(tests) {}

 protected:
  using Mutator::visit;
  Stmt visit(const For* op) override {
    position_.enter(op);
    Stmt out = Mutator::visit(op);
    position_.leave();
    return out;
  }
  Stmt visit(const If* op) override {
    const Expr rest = is_guard(op) ? without(op->condition) : op->condition;
    return make_if(rest, (*this)(op->then_case), op->else_case ? (*this)(op->else_case) : Stmt());
  }
  Expr visit(const Select* op) override {
    const Expr rest = is_guard(op) ? without(op->condition) : op->condition;
    if (is_const(rest, 1)) return (*this)(op->on_true);
    return select(rest, (*this)(op->on_true), (*this)(op->on_false));
  }

 private:
  Expr without(const Expr& condition) const {
    Expr rest = make_bool(true);
    for (const Expr& part : conjuncts(condition)) {
      const Expr test = position_.test_of(part);
      if (!test || !holds_test(tests_, test)) rest = is_const(rest, 1) ? part : logical_and(rest, part);
    }
    return rest;
  }

  TilePosition position_;
  const std::vector<Expr>& tests_;
};

class BorderVersioner final : public Mutator {
 protected:
  using Mutator::visit;
  Stmt visit(const For* op) override {
    outer_.push_back(op->var.get());
    facts_.push_loop(op->var.get(), op->min, op->extent);
    Stmt body = op->body;
    if (op->loop == LoopKind::kSerial || op->loop == LoopKind::kParallel) {
      if (const Stmt both = versions(op)) body = both;
    }
    body = Mutator::operator()(body);
    facts_.pop_range();
    outer_.pop_back();
    return body.same_as(op->body) ? Stmt(op) : make_for(op->var, op->min, op->extent, op->loop, std::move(body));
  }

 private:
  // Null when two versions are not worth it.
  Stmt versions(const For* op) {
    const TilePosition position(outer_, facts_);
    TileConditions tile(position);
    tile(op->body);
    const StatementCount size = size_of(op->body);
    if (tile.guarded == 0 || tile.guarded < size.run / kShareOfWork || size.written > kMaxStatements - grown_)
      return Stmt();
    grown_ += size.written;
    Expr all = tile.tests[0];
    for (size_t i = 1; i < tile.tests.size(); ++i) all = logical_and(all, tile.tests[i]);
    // Two copies may not define the same variables: the second gets fresh ones.
    const Var same(op->var->name, op->var->dtype);
    const Stmt clean =
        substitute(clone_with(Assume(position, tile.tests)(op->body), op->var, same), {{same.get(), op->var}});
    return make_if(std::move(all), clean, op->body);
  }

  std::vector<const ExprNode*> outer_;
  Facts facts_;  // their ranges
  int64_t grown_ = 0;
};

}  // namespace

Stmt version_borders(const Stmt& s) { return BorderVersioner()(s); }

}  // namespace hone
