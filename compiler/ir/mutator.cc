#include "compiler/ir/mutator.h"

#include "compiler/ir/visitor.h"

namespace hone {

Expr Mutator::operator()(const Expr& e) {
  if (!e) return e;
  return sharing_ == Sharing::kLost ? dispatch(e) : visit_once(e);
}

Expr Mutator::visit_once(const Expr& e) {
  const bool remembered =
      e->is_shared() && e->kind != ExprKind::kIntImm && e->kind != ExprKind::kFloatImm && e->kind != ExprKind::kVar;
  if (remembered)
    for (const auto& [node, result] : visited_)
      if (node == e.get()) return result;
  ++depth_;
  Expr result = dispatch(e);
  if (--depth_ == 0)
    visited_.clear();
  else if (remembered)
    visited_.emplace_back(e.get(), result);
  return result;
}

Expr Mutator::dispatch(const Expr& e) {
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
  return e;
}

Stmt Mutator::operator()(const Stmt& s) {
  if (!s) return s;
  switch (s->kind) {
    case StmtKind::kFor: return visit(static_cast<const For*>(s.get()));
    case StmtKind::kStore: return visit(static_cast<const Store*>(s.get()));
    case StmtKind::kSeq: return visit(static_cast<const Seq*>(s.get()));
    case StmtKind::kIf: return visit(static_cast<const If*>(s.get()));
    case StmtKind::kAllocate: return visit(static_cast<const Allocate*>(s.get()));
    case StmtKind::kPrefetch: return visit(static_cast<const Prefetch*>(s.get()));
    case StmtKind::kBarrier: return s;
  }
  return s;
}

bool Mutator::mutate_all(const std::vector<Expr>& in, std::vector<Expr>* out) {
  bool changed = false;
  out->reserve(in.size());
  for (const Expr& e : in) {
    out->push_back((*this)(e));
    changed |= !out->back().same_as(e);
  }
  return changed;
}

Expr Mutator::visit(const Cast* op) {
  Expr v = (*this)(op->value);
  return v.same_as(op->value) ? Expr(op) : cast(op->dtype, std::move(v));
}
Expr Mutator::visit(const Binary* op) {
  Expr a = (*this)(op->a), b = (*this)(op->b);
  return a.same_as(op->a) && b.same_as(op->b) ? Expr(op) : binary(op->op, std::move(a), std::move(b));
}
Expr Mutator::visit(const Not* op) {
  Expr v = (*this)(op->value);
  return v.same_as(op->value) ? Expr(op) : logical_not(std::move(v));
}
Expr Mutator::visit(const Select* op) {
  Expr c = (*this)(op->condition), t = (*this)(op->on_true), f = (*this)(op->on_false);
  if (c.same_as(op->condition) && t.same_as(op->on_true) && f.same_as(op->on_false)) return Expr(op);
  return select(std::move(c), std::move(t), std::move(f));
}
Expr Mutator::visit(const Load* op) {
  std::vector<Expr> indices;
  return mutate_all(op->indices, &indices) ? load(op->buffer, std::move(indices)) : Expr(op);
}
Expr Mutator::visit(const Ramp* op) {
  Expr b = (*this)(op->base), s = (*this)(op->stride);
  return b.same_as(op->base) && s.same_as(op->stride) ? Expr(op)
                                                      : Expr(new Ramp(std::move(b), std::move(s), op->dtype.lanes));
}
Expr Mutator::visit(const Broadcast* op) {
  Expr v = (*this)(op->value);
  return v.same_as(op->value) ? Expr(op) : Expr(new Broadcast(std::move(v), op->dtype.lanes));
}
Expr Mutator::visit(const Call* op) {
  std::vector<Expr> args;
  return mutate_all(op->args, &args) ? Expr(new Call(op->dtype, op->function, std::move(args))) : Expr(op);
}
Stmt Mutator::visit(const For* op) {
  Expr lo = (*this)(op->min), n = (*this)(op->extent);
  Stmt body = (*this)(op->body);
  if (lo.same_as(op->min) && n.same_as(op->extent) && body.same_as(op->body)) return Stmt(op);
  return make_for(op->var, std::move(lo), std::move(n), op->loop, std::move(body));
}
Stmt Mutator::visit(const Store* op) {
  std::vector<Expr> indices;
  const bool changed = mutate_all(op->indices, &indices);
  Expr v = (*this)(op->value), m = (*this)(op->mask);
  if (!changed && v.same_as(op->value) && m.same_as(op->mask)) return Stmt(op);
  return make_store(op->buffer, std::move(indices), std::move(v), std::move(m));
}
Stmt Mutator::visit(const Seq* op) {
  std::vector<Stmt> out;
  bool changed = false;
  for (const Stmt& s : op->stmts) {
    out.push_back((*this)(s));
    changed |= !out.back().same_as(s);
  }
  return changed ? make_seq(std::move(out)) : Stmt(op);
}
Stmt Mutator::visit(const If* op) {
  Expr c = (*this)(op->condition);
  Stmt t = (*this)(op->then_case), f = (*this)(op->else_case);
  if (c.same_as(op->condition) && t.same_as(op->then_case) && f.same_as(op->else_case)) return Stmt(op);
  return make_if(std::move(c), std::move(t), std::move(f));
}
Stmt Mutator::visit(const Allocate* op) {
  Stmt body = (*this)(op->body);
  return body.same_as(op->body) ? Stmt(op) : make_allocate(op->buffer, op->offset, std::move(body));
}
Stmt Mutator::visit(const Prefetch* op) {
  std::vector<Expr> indices;
  return mutate_all(op->indices, &indices) ? make_prefetch(op->buffer, std::move(indices)) : Stmt(op);
}

namespace {

class Substituter final : public Mutator {
 public:
  explicit Substituter(const VarMap& map) : Mutator(Sharing::kKept), map_(map) {}

 protected:
  using Mutator::visit;
  Expr visit(const VarNode* op) override {
    Expr out = lookup(op);
    return out ? out : Expr(op);
  }
  Expr visit(const Binary* op) override {
    Expr out = replaced(op);
    return out ? out : Expr(op);
  }

 private:
  Expr lookup(const VarNode* var) const {
    for (const auto& [from, value] : map_)
      if (from == var) return value;
    return nullptr;
  }

  // Null when nothing changes: most index arithmetic is walked without touching the reference counts of nodes that
  // stay.
  Expr replaced(const Binary* op) {
    Expr a = replaced(op->a), b = replaced(op->b);
    if (!a && !b) return nullptr;
    if (!a) a = op->a;
    if (!b) b = op->b;
    return binary(op->op, std::move(a), std::move(b));
  }
  Expr replaced(const Expr& e) {
    if (e->kind == ExprKind::kIntImm) return nullptr;
    if (e->kind == ExprKind::kVar) return lookup(static_cast<const VarNode*>(e.get()));
    if (e->kind == ExprKind::kBinary) return replaced(static_cast<const Binary*>(e.get()));
    Expr out = (*this)(e);
    return out.same_as(e) ? nullptr : out;
  }

  const VarMap& map_;
};

class Cloner final : public Mutator {
 public:
  Cloner(const VarNode* from, const Expr& to) { map_.emplace_back(from, to); }

 protected:
  using Mutator::visit;
  Expr visit(const VarNode* op) override {
    for (auto it = map_.rbegin(); it != map_.rend(); ++it)
      if (it->first == op) return it->second;
    return Expr(op);
  }
  Stmt visit(const For* op) override {
    Var fresh(op->var->name, op->var->dtype);
    Expr lo = (*this)(op->min), n = (*this)(op->extent);
    map_.emplace_back(op->var.get(), Expr(fresh));
    Stmt body = (*this)(op->body);
    map_.pop_back();
    return make_for(std::move(fresh), std::move(lo), std::move(n), op->loop, std::move(body));
  }

 private:
  VarMap map_;
};

class VarFinder final : public Visitor {
 public:
  explicit VarFinder(const VarNode* var) : var_(var) {}
  bool found = false;

 protected:
  using Visitor::visit;
  void visit(const VarNode* op) override { found |= op == var_; }

 private:
  const VarNode* var_;
};

}  // namespace

Expr substitute(const Expr& e, const VarMap& map) { return map.empty() ? e : Substituter(map)(e); }
Stmt substitute(const Stmt& s, const VarMap& map) { return map.empty() ? s : Substituter(map)(s); }
Stmt clone_with(const Stmt& s, const Var& from, const Expr& to) { return Cloner(from.get(), to)(s); }

bool uses_var(const Expr& e, const VarNode* var) {
  VarFinder finder(var);
  finder(e);
  return finder.found;
}

}  // namespace hone
