#include "compiler/ir/visitor.h"

namespace hone {

void Visitor::dispatch(const Expr& e) {
  if (!e) return;
  switch (e->kind) {
    case ExprKind::kIntImm: return visit(static_cast<const IntImm*>(e.get()));
    case ExprKind::kFloatImm: return visit(static_cast<const FloatImm*>(e.get()));
    case ExprKind::kVar: return visit(static_cast<const VarNode*>(e.get()));
    case ExprKind::kCast: return visit(static_cast<const Cast*>(e.get()));
    case ExprKind::kBinary: return visit(static_cast<const Binary*>(e.get()));
    case ExprKind::kNot: return visit(static_cast<const Not*>(e.get()));
    case ExprKind::kSelect: return visit(static_cast<const Select*>(e.get()));
    case ExprKind::kLoad: return visit(static_cast<const Load*>(e.get()));
    case ExprKind::kRamp: return visit(static_cast<const Ramp*>(e.get()));
    case ExprKind::kBroadcast: return visit(static_cast<const Broadcast*>(e.get()));
    case ExprKind::kCall: return visit(static_cast<const Call*>(e.get()));
  }
}

void Visitor::dispatch(const Stmt& s) {
  if (!s) return;
  switch (s->kind) {
    case StmtKind::kFor: return visit(static_cast<const For*>(s.get()));
    case StmtKind::kStore: return visit(static_cast<const Store*>(s.get()));
    case StmtKind::kSeq: return visit(static_cast<const Seq*>(s.get()));
    case StmtKind::kIf: return visit(static_cast<const If*>(s.get()));
    case StmtKind::kAllocate: return visit(static_cast<const Allocate*>(s.get()));
    case StmtKind::kPrefetch: return visit(static_cast<const Prefetch*>(s.get()));
    case StmtKind::kBarrier: return visit(static_cast<const Barrier*>(s.get()));
  }
}

void Visitor::visit(const Cast* op) { (*this)(op->value); }
void Visitor::visit(const Binary* op) {
  (*this)(op->a);
  (*this)(op->b);
}
void Visitor::visit(const Not* op) { (*this)(op->value); }
void Visitor::visit(const Select* op) {
  (*this)(op->condition);
  (*this)(op->on_true);
  (*this)(op->on_false);
}
void Visitor::visit(const Load* op) {
  for (const Expr& i : op->indices) (*this)(i);
}
void Visitor::visit(const Ramp* op) {
  (*this)(op->base);
  (*this)(op->stride);
}
void Visitor::visit(const Broadcast* op) { (*this)(op->value); }
void Visitor::visit(const Call* op) {
  for (const Expr& a : op->args) (*this)(a);
}
void Visitor::visit(const For* op) {
  (*this)(op->min);
  (*this)(op->extent);
  (*this)(op->body);
}
void Visitor::visit(const Store* op) {
  for (const Expr& i : op->indices) (*this)(i);
  (*this)(op->value);
  (*this)(op->mask);
}
void Visitor::visit(const Seq* op) {
  for (const Stmt& s : op->stmts) (*this)(s);
}
void Visitor::visit(const If* op) {
  (*this)(op->condition);
  (*this)(op->then_case);
  (*this)(op->else_case);
}
void Visitor::visit(const Allocate* op) { (*this)(op->body); }
void Visitor::visit(const Prefetch* op) {
  for (const Expr& i : op->indices) (*this)(i);
}

bool holds_loop(const Stmt& s, LoopKind kind) {
  class Finder final : public Visitor {
   public:
    explicit Finder(LoopKind kind) : kind_(kind) {}
    bool found = false;

   protected:
    using Visitor::visit;
    void visit(const For* op) override {
      found |= op->loop == kind_;
      if (!found) Visitor::visit(op);
    }

   private:
    const LoopKind kind_;
  } finder(kind);
  finder(s);
  return finder.found;
}

}  // namespace hone
