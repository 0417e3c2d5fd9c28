// Sizes are divided as unsigned numbers: the size of the least number fits, and no quotient overflows. A divisor is at
// least 1 for everyone to see (the verifier wants a proof); signs and zeros are put right afterwards.
#include "compiler/ops/functions/integer_division.h"

#include "compiler/ops/functions/function_rows.h"

namespace hone {
namespace {

Expr zero_like(const Expr& x) { return make_int(0, x->dtype); }
bool is_signed(const Expr& x) { return x->dtype.code == TypeCode::kInt; }
Expr is_negative(const Expr& x) { return lt(x, zero_like(x)); }

Expr unsigned_size(const Expr& x) {
  if (!is_signed(x)) return x;
  return cast({TypeCode::kUInt, x->dtype.bits}, absolute(x));
}

Expr divisor_of(const Expr& y) {
  const Expr size = unsigned_size(y);
  return max(size, make_int(1, size->dtype));
}

}  // namespace

Expr quotient(const Expr& x, const Expr& y) {
  if (x->dtype.is_float()) return x / y;
  const Expr zero = zero_like(x);
  const Expr size = cast(x->dtype, floor_div(unsigned_size(x), divisor_of(y)));
  const Expr value = is_signed(x) ? select(differ(is_negative(x), is_negative(y)), zero - size, size) : size;
  return select(binary(BinaryOp::kEq, y, zero), zero, value);
}

Expr truncated_remainder(const Expr& x, const Expr& y) {
  const Expr size = cast(x->dtype, floor_mod(unsigned_size(x), divisor_of(y)));
  return is_signed(x) ? select(is_negative(x), zero_like(x) - size, size) : size;
}

Expr floored_remainder(const Expr& x, const Expr& y) {
  Expr rest = truncated_remainder(x, y);
  if (!is_signed(x)) return rest;
  return select(logical_and(ne(rest, zero_like(x)), differ(is_negative(x), is_negative(y))), rest + y, rest);
}

}  // namespace hone
