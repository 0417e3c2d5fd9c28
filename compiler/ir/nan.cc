#include "compiler/ir/nan.h"

#include <cmath>

namespace hone {

bool is_never_nan(const Expr& e) {
  if (const FloatImm* number = as<FloatImm>(e)) return !std::isnan(number->value);
  if (const Broadcast* spread = as<Broadcast>(e)) return is_never_nan(spread->value);
  if (const Cast* cast = as<Cast>(e)) return !cast->value->dtype.is_float() || is_never_nan(cast->value);
  if (const Select* choice = as<Select>(e)) return is_never_nan(choice->on_true) && is_never_nan(choice->on_false);
  const Binary* op = as<Binary>(e);
  return op && (op->op == BinaryOp::kMin || op->op == BinaryOp::kMax) && is_never_nan(op->a) && is_never_nan(op->b);
}

NanForm nan_form(const Binary* extreme, bool assume_finite) {
  if (assume_finite || is_never_nan(extreme->a)) return NanForm::kInOrder;
  return is_never_nan(extreme->b) ? NanForm::kExchanged : NanForm::kTested;
}

}  // namespace hone
