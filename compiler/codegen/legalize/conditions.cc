#include "compiler/codegen/legalize/conditions.h"

#include "compiler/ir/visitor.h"

namespace hone {
namespace {

void add_conjuncts(const Expr& e, std::vector<Expr>* out) {
  if (const Binary* op = as<Binary>(e); op && op->op == BinaryOp::kAnd) {
    add_conjuncts(op->a, out);
    add_conjuncts(op->b, out);
    return;
  }
  out->push_back(e);
}

class FaultFinder final : public Visitor {
 public:
  bool may_fault = false;

 protected:
  using Visitor::visit;
  void visit(const Load*) override { may_fault = true; }
  void visit(const Binary* op) override {
    const bool divides = op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod;
    may_fault = may_fault || (divides && !as_const_int(op->b));
    Visitor::visit(op);
  }
};

class StoreCounter final : public Visitor {
 public:
  StatementCount total;

 protected:
  using Visitor::visit;
  void visit(const Store*) override {
    total.run = saturating_sum(total.run, times_.run);
    total.written = saturating_sum(total.written, times_.written);
  }
  void visit(const For* op) override {
    const StatementCount outer = times_;
    const int64_t n = std::clamp<int64_t>(as_const_int(op->extent).value_or(1), 1, kMostCounted);
    if (op->loop != LoopKind::kVectorize) times_.run = saturating_product(times_.run, n);
    if (op->loop == LoopKind::kUnroll) times_.written = saturating_product(times_.written, n);
    Visitor::visit(op);
    times_ = outer;
  }

 private:
  StatementCount times_{1, 1};
};

}  // namespace

std::vector<Expr> conjuncts(const Expr& condition) {
  std::vector<Expr> out;
  add_conjuncts(condition, &out);
  return out;
}

bool is_index_arithmetic(const Expr& condition) {
  FaultFinder finder;
  finder(condition);
  return !finder.may_fault;
}

std::optional<Linear> nonnegative_form(const Expr& condition) {
  const Binary* op = as<Binary>(condition);
  if (!op || op->a->dtype != kIndex || (op->op != BinaryOp::kLe && op->op != BinaryOp::kLt)) return std::nullopt;
  const auto a = linear_of(op->a), b = linear_of(op->b);
  if (!a || !b) return std::nullopt;
  auto form = add(*b, *a, -1);
  if (form && op->op == BinaryOp::kLt && __builtin_sub_overflow(form->constant, 1, &form->constant))
    return std::nullopt;
  return form;
}

StatementCount size_of(const Stmt& s) {
  StoreCounter counter;
  counter(s);
  return counter.total;
}

bool has_loop(const Stmt& s) {
  class Finder final : public Visitor {
   public:
    bool found = false;

   protected:
    using Visitor::visit;
    void visit(const For* op) override {
      found |= op->loop == LoopKind::kSerial || op->loop == LoopKind::kParallel;
      Visitor::visit(op);
    }
  } finder;
  finder(s);
  return finder.found;
}

}  // namespace hone
