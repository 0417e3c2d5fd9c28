#include "compiler/arith/lanes.h"

namespace hone {

Expr lane_of(const Expr& e, const Expr& lane) {
  if (!e->dtype.is_vector()) return e;
  switch (e->kind) {
    case ExprKind::kRamp:
      return Expr(new Binary(BinaryOp::kAdd, kIndex, as<Ramp>(e)->base,
                             Expr(new Binary(BinaryOp::kMul, kIndex, lane, as<Ramp>(e)->stride))));
    case ExprKind::kBroadcast: return as<Broadcast>(e)->value;
    case ExprKind::kNot: return Expr(new Not(lane_of(as<Not>(e)->value, lane)));
    case ExprKind::kBinary: {
      const Binary* op = as<Binary>(e);
      return Expr(new Binary(op->op, e->dtype.scalar(), lane_of(op->a, lane), lane_of(op->b, lane)));
    }
    case ExprKind::kSelect: {
      const Select* op = as<Select>(e);
      return Expr(new Select(lane_of(op->condition, lane), lane_of(op->on_true, lane), lane_of(op->on_false, lane)));
    }
    // The converted type limits the numbers that it may be.
    case ExprKind::kCast:
      return Expr(new Cast(e->dtype.scalar(), Expr(Var("unknown", as<Cast>(e)->value->dtype.scalar()))));
    default:
      return Expr(Var("unknown", e->dtype.scalar()));  // a value of its own: two that nothing is known of are not equal
  }
}

}  // namespace hone
