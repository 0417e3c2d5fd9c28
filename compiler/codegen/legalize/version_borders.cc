// for i unroll: if (8*t + i < n) S(i)   ->   if (8*t + 7 < n) for i unroll: S(i)  else for i unroll: if (8*t + i < n) S(i)
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
constexpr int64_t kMaxStatements = 4096;  // that a kernel grows by, after unrolling

// Conditions in the body of the loop that is the last of `outer`, which depend on its variable, on those around it, and on unrolled and vector
// loops inside.
class TileConditions final : public Visitor {
 public:
  explicit TileConditions(const std::vector<const ExprNode*>& outer) : outer_(outer) {}
  std::vector<const ExprNode*> conditions;  // each a conjunct
  std::vector<Expr> tests;                  // that make all of them hold
  int64_t guarded = 0;                      // stores behind them, in one run of the body

 protected:
  using Visitor::visit;
  void visit(const For* op) override {
    const auto lo = as_const_int(op->min), n = as_const_int(op->extent);
    const bool copied = op->loop == LoopKind::kUnroll || op->loop == LoopKind::kVectorize;
    const int64_t outer = times_;
    if (n && *n > 0 && op->loop != LoopKind::kVectorize) times_ = saturating_product(times_, *n);
    const bool tile = copied && lo && *lo == 0 && n && *n > 0;
    if (tile) inner_.push_back(op->var.get()), facts_.push_range(op->var.get(), 0, *n - 1);
    Visitor::visit(op);
    if (tile) inner_.pop_back(), facts_.pop_range();
    times_ = outer;
  }
  void visit(const If* op) override {
    const int64_t stores = size_of(op->then_case).run;
    if (stores <= kMaxGuarded && !op->else_case && !has_loop(op->then_case)) add(op->condition, stores);
    Visitor::visit(op);
  }
  void visit(const Select* op) override {
    if (op->condition->dtype.lanes == 1) add(op->condition, 1);
    Visitor::visit(op);
  }

 private:
  void add(const Expr& condition, int64_t stores) {
    bool found = false;
    for (const Expr& part : conjuncts(condition)) found = generalize(part) || found;
    if (found) guarded = saturating_sum(guarded, saturating_product(times_, stores));
  }

  bool generalize(const Expr& condition) {
    if (!is_index_arithmetic(condition)) return false;
    const auto form = nonnegative_form(condition);
    if (!form) return false;
    Linear known, rest;
    for (const Linear::Term& t : form->terms) {
      const bool inside = std::find(inner_.begin(), inner_.end(), t.atom.get()) != inner_.end();
      if (!inside && !uses_only(t.atom, outer_)) return false;
      (inside ? rest : known).terms.push_back(t);
    }
    const Interval range = facts_.bounds(rest);
    const auto of_this_loop = [&](const Linear::Term& t) { return uses_var(t.atom, static_cast<const VarNode*>(outer_.back())); };
    if (std::none_of(known.terms.begin(), known.terms.end(), of_this_loop) || range.lo == Interval::kMin || __builtin_add_overflow(form->constant, range.lo, &known.constant)) return false;
    conditions.push_back(condition.get());
    const Expr test = ge(known.to_expr(), int64_t{0});
    if (std::none_of(tests.begin(), tests.end(), [&](const Expr& other) { return equal(other, test); })) tests.push_back(test);
    return true;
  }

  static bool uses_only(const Expr& e, const std::vector<const ExprNode*>& allowed) {
    class Vars final : public Visitor {
     public:
      explicit Vars(const std::vector<const ExprNode*>& allowed) : allowed_(allowed) {}
      bool holds = true;

     protected:
      using Visitor::visit;
      void visit(const VarNode* op) override { holds = holds && std::find(allowed_.begin(), allowed_.end(), op) != allowed_.end(); }

     private:
      const std::vector<const ExprNode*>& allowed_;
    } vars(allowed);
    vars(e);
    return vars.holds;
  }

  const std::vector<const ExprNode*>& outer_;
  std::vector<const ExprNode*> inner_;
  Facts facts_;
  int64_t times_ = 1;
};

// Drops the given conjuncts from all conditions.
class Assume final : public Mutator {
 public:
  explicit Assume(const std::vector<const ExprNode*>& conditions) : conditions_(conditions) {}

 protected:
  using Mutator::visit;
  Stmt visit(const If* op) override {
    const Expr rest = without(op->condition);
    return make_if(rest, (*this)(op->then_case), op->else_case ? (*this)(op->else_case) : Stmt());
  }
  Expr visit(const Select* op) override {
    const Expr rest = without(op->condition);
    if (is_const(rest, 1)) return (*this)(op->on_true);
    return select(rest, (*this)(op->on_true), (*this)(op->on_false));
  }

 private:
  Expr without(const Expr& condition) const {
    Expr rest = make_bool(true);
    for (const Expr& part : conjuncts(condition))
      if (std::find(conditions_.begin(), conditions_.end(), part.get()) == conditions_.end()) rest = is_const(rest, 1) ? part : logical_and(rest, part);
    return rest;
  }
  const std::vector<const ExprNode*>& conditions_;
};

class BorderVersioner final : public Mutator {
 protected:
  using Mutator::visit;
  Stmt visit(const For* op) override {
    outer_.push_back(op->var.get());
    Stmt body = op->body;
    if (op->loop == LoopKind::kSerial || op->loop == LoopKind::kParallel) {
      if (const Stmt both = versions(op)) body = both;
    }
    body = Mutator::operator()(body);
    outer_.pop_back();
    return body.same_as(op->body) ? Stmt(op) : make_for(op->var, op->min, op->extent, op->loop, std::move(body));
  }

 private:
  // Null when it is not worth it.
  Stmt versions(const For* op) {
    TileConditions tile(outer_);
    tile(op->body);
    const StatementCount size = size_of(op->body);
    if (tile.guarded == 0 || tile.guarded < size.run / kShareOfWork || size.written > kMaxStatements - grown_) return Stmt();
    grown_ += size.written;
    Expr all = tile.tests[0];
    for (size_t i = 1; i < tile.tests.size(); ++i) all = logical_and(all, tile.tests[i]);
    // Two copies may not define the same variables: one has fresh ones.
    const Var same(op->var->name, op->var->dtype);
    const Stmt clean = substitute(clone_with(Assume(tile.conditions)(op->body), op->var, same), {{same.get(), op->var}});
    return make_if(std::move(all), clean, op->body);
  }

  std::vector<const ExprNode*> outer_;
  int64_t grown_ = 0;
};

}  // namespace

Stmt version_borders(const Stmt& s) { return BorderVersioner()(s); }

}  // namespace hone
