#include "compiler/frontend/onnx/node/quantized_node.h"

#include "compiler/ir/layout.h"

namespace hone::onnx {

Quantization quantization(const NodeContext& c, size_t scale, size_t zero, size_t axis, size_t rank) {
  Quantization q{along(c.l, c.in(scale), axis, rank), std::nullopt};
  if (c.has(zero)) q.zero = along(c.l, c.in(zero), axis, rank);
  return q;
}

Operand row_scale(const NodeContext& c, size_t i) {
  const Operand& z = c.in(i);
  if (element_count(z.type.shape) == 1) return c.l.reshape(z, {});
  return z.rank() == 1 ? c.l.reshape(z, {z.type.shape[0], 1}) : z;
}
Operand column_scale(const NodeContext& c, size_t i) {
  const Operand& z = c.in(i);
  return element_count(z.type.shape) == 1 ? c.l.reshape(z, {}) : z;
}

std::optional<Operand> row_zero(const NodeContext& c, size_t i) {
  return c.has(i) ? std::optional(row_scale(c, i)) : std::nullopt;
}
std::optional<Operand> column_zero(const NodeContext& c, size_t i) {
  return c.has(i) ? std::optional(column_scale(c, i)) : std::nullopt;
}

}  // namespace hone::onnx
