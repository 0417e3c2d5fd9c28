#include "compiler/frontend/lowering/quantization.h"

#include "compiler/ir/layout.h"

namespace hone::frontend {

bool is_known_zero(const Lowering& l, const Operand& x) {
  const auto data = l.data_of(x);
  if (!data) return false;
  for (const char b : data->bytes())
    if (b != 0) return false;
  return true;
}

Operand along(Lowering& l, const Operand& x, size_t axis, size_t rank) {
  if (element_count(x.type.shape) == 1) return l.reshape(x, {});
  HONE_USER_CHECK(x.rank() == 1 && axis < rank) << to_string(x.type) << " for axis " << axis << " of " << rank;
  Extents shape(rank - axis, 1);
  shape[0] = x.type.shape[0];
  return l.reshape(x, shape);
}

Operand quantized(Lowering& l, const Operand& x, const Quantization& q, DType to) {
  Operand out = l.pointwise("round", {l.pointwise("div", {x, q.scale})});
  if (q.zero && !is_known_zero(l, *q.zero)) out = l.pointwise("add", {out, l.cast(*q.zero, out.type.dtype)});
  return l.pointwise("saturate:" + to_string(to), {out});
}

Operand centred(Lowering& l, const Operand& x, const std::optional<Operand>& zero, DType to) {
  const Operand wide = l.cast(x, to);
  return zero && !is_known_zero(l, *zero) ? l.pointwise("sub", {wide, l.cast(*zero, to)}) : wide;
}

Operand dequantized(Lowering& l, const Operand& x, const Quantization& q) {
  const DType to = q.scale.type.dtype;
  const bool is_small = x.type.dtype.bytes() <= 2;  // f32 holds it and its differences
  const Operand difference =
      is_small && to == f32 ? centred(l, x, q.zero, f32) : l.cast(centred(l, x, q.zero, i32), to);
  return l.pointwise("mul", {difference, q.scale});
}

}  // namespace hone::frontend
