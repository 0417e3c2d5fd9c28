// Rewriting walk: returns the same node when nothing below it changed.
#pragma once

#include "compiler/ir/stmt.h"

namespace hone {

class Mutator {
 public:
  Mutator() = default;
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

  /// For walks whose result depends on the node alone: a node that several parents of one expression share is visited
  /// once and stays shared.
  enum class Sharing : uint8_t { kLost, kKept };
  explicit Mutator(Sharing sharing) : sharing_(sharing) {}

  /// Mutates each; true when one changed.
  bool mutate_all(const std::vector<Expr>& in, std::vector<Expr>* out);

 private:
  Expr dispatch(const Expr& e);
  Expr visit_once(const Expr& e);

  Sharing sharing_ = Sharing::kLost;
  int depth_ = 0;                                          ///< of expressions being walked
  std::vector<std::pair<const ExprNode*, Expr>> visited_;  ///< shared nodes of the expression being walked; few
};

/// A few variables and their replacements; looked up linearly because there are few.
using VarMap = std::vector<std::pair<const VarNode*, Expr>>;

/// `e` with each variable of `map` replaced.
Expr substitute(const Expr& e, const VarMap& map);
Stmt substitute(const Stmt& s, const VarMap& map);
/// `s` with `from` replaced by `to` and fresh variables for the loops inside: safe to stand beside another copy.
Stmt clone_with(const Stmt& s, const Var& from, const Expr& to);
/// True when `var` occurs in `e`.
bool uses_var(const Expr& e, const VarNode* var);

}  // namespace hone
