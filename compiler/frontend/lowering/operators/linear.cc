#include "compiler/frontend/lowering/operators/linear.h"

namespace hone::frontend {

Operand linear(Lowering& l, const Operand& x, const Operand& w, const std::optional<Operand>& bias) {
  const bool is_known = l.data_of(w).has_value();
  if (is_known && bias && l.data_of(*bias)) return l.dense(x, w, true, "bias", {*bias});
  const Operand out = is_known ? l.dense(x, w, true) : l.batch_matmul(x, l.transpose(w, {1, 0}));
  return bias ? l.pointwise("add", {out, *bias}) : out;
}

}  // namespace hone::frontend
