// Rewriting walk: returns the same node when nothing below it changed.
#pragma once

#include "compiler/ir/stmt.h"

namespace hone {

class Mutator {
 public:
  virtual ~Mutator() = default;
  Expr operator()(const Expr& e);
  Stmt operator()(const Stmt& s);

 protected:
  virtual Expr visit(const IntImm* op) { return Expr(op); }
  virtual Expr visit(const FloatImm* op) { return Expr(op); }
  virtual Expr visit(const VarNode* op) { return Expr(op); }
  virtual Expr visit(const Cast* op);
  virtual Expr visit(const Binary* op);
  virtual Expr visit(const Not* op);
  virtual Expr visit(const Select* op);
  virtual Expr visit(const Load* op);
  virtual Expr visit(const Ramp* op);
  virtual Expr visit(const Broadcast* op);
  virtual Expr visit(const Call* op);
  virtual Stmt visit(const For* op);
  virtual Stmt visit(const Store* op);
  virtual Stmt visit(const Seq* op);
  virtual Stmt visit(const If* op);
  virtual Stmt visit(const Allocate* op);
  virtual Stmt visit(const Prefetch* op);

  /// Mutates each; true when one changed.
  bool mutate_all(const std::vector<Expr>& in, std::vector<Expr>* out);
};

/// A few variables and what they become; looked up linearly because there are few.
using VarMap = std::vector<std::pair<const VarNode*, Expr>>;

/// `e` with each variable of `map` replaced.
Expr substitute(const Expr& e, const VarMap& map);
Stmt substitute(const Stmt& s, const VarMap& map);
/// `s` with `from` replaced by `to` and fresh variables for the loops inside: safe to stand beside another copy.
Stmt clone_with(const Stmt& s, const Var& from, const Expr& to);
/// True when `var` occurs in `e`.
bool uses_var(const Expr& e, const VarNode* var);

}  // namespace hone
