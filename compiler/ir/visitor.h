// Read-only walk over expressions and statements. Override the hooks of interest; the defaults visit every child.
#pragma once

#include "compiler/ir/stmt.h"

namespace hone {

class Visitor {
 public:
  virtual ~Visitor() = default;
  void operator()(const Expr& e) { dispatch(e); }
  void operator()(const Stmt& s) { dispatch(s); }

 protected:
  virtual void visit(const IntImm*) {}
  virtual void visit(const FloatImm*) {}
  virtual void visit(const VarNode*) {}
  virtual void visit(const Cast* op);
  virtual void visit(const Binary* op);
  virtual void visit(const Not* op);
  virtual void visit(const Select* op);
  virtual void visit(const Load* op);
  virtual void visit(const Ramp* op);
  virtual void visit(const Broadcast* op);
  virtual void visit(const Call* op);
  virtual void visit(const For* op);
  virtual void visit(const Store* op);
  virtual void visit(const Seq* op);
  virtual void visit(const If* op);
  virtual void visit(const Allocate* op);
  virtual void visit(const Prefetch* op);
  virtual void visit(const Barrier*) {}

 private:
  void dispatch(const Expr& e);
  void dispatch(const Stmt& s);
};

/// True when there is a loop of that kind in `s`.
bool holds_loop(const Stmt& s, LoopKind kind);

}  // namespace hone
