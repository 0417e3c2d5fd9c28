// NaNs in maxima and minima: which of them need a test of their own.
#pragma once

#include "compiler/ir/expr.h"

namespace hone {

/// Whether `e`, a float, is never a NaN by its form: a number, an integer's value, an extreme or a choice of such. For
/// a vector: in all lanes.
bool is_never_nan(const Expr& e);

/// How a kMin or kMax of floats that keeps NaNs is made of one operation that gives its second operand where the two do
/// not compare, as x86's instructions and `a < b ? a : b` do.
enum class NanForm : uint8_t {
  kInOrder,    ///< of a and b: a is never a NaN, so that a NaN of b stays
  kExchanged,  ///< of b and a: b is never one
  kTested,     ///< of b and a, which keeps a NaN of a; a NaN of b is chosen by a comparison of b with itself
};
/// With `assume_finite` kInOrder: whatever a NaN becomes is right.
NanForm nan_form(const Binary* extreme, bool assume_finite);

}  // namespace hone
