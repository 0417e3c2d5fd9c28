// Functions of several steps, of numbers of 16 bits.
#include <algorithm>

#include "compiler/ir/visitor.h"
#include "compiler/ops/functions/functions.h"

namespace hone {
namespace {

class Roundings final : public Visitor {
 public:
  int count = 0;

 private:
  using Visitor::visit;
  void visit(const Binary* b) override {
    using enum BinaryOp;
    if (b->dtype.is_float() && b->op != kMax && b->op != kMin) ++count;
    Visitor::visit(b);
  }
  void visit(const Call* c) override {
    if (c->function != Intrinsic::kAbs && c->function != Intrinsic::kRint) ++count;
    Visitor::visit(c);
  }
};

}  // namespace

bool is_wide(const ScalarFunction& f, DType t) {
  if (!t.is_float() || t.bits > 16 || f.needs_result || !f.takes(t)) return false;
  std::vector<Expr> arguments{Var("x", t)};
  for (const ArgumentKind a : f.arguments) arguments.push_back(Var("a", a == ArgumentKind::kCondition ? boolean : t));
  Roundings roundings;
  roundings(f.apply(arguments, t));
  return roundings.count > 1;
}

Expr applied(const ScalarFunction& f, std::span<const Expr> arguments, DType t) {
  const bool wide = is_wide(f, t);
  std::vector<Expr> taken(arguments.begin(), arguments.end());
  for (Expr& a : taken)
    if (!a->dtype.is_bool()) a = cast(wide ? f32 : t, a);
  const Expr result = f.apply(taken, wide ? f32 : t);
  return wide && !f.gives_bool ? cast(t, result) : result;
}

}  // namespace hone
