// What quantised operators are made of: whole numbers with a scale and a zero point.
#pragma once

#include <optional>

#include "compiler/frontend/onnx/lowering.h"

namespace hone::onnx {

/// Scales and zero points: of a whole tensor, or one for each extent of an axis.
struct Quantization {
  Operand scale;
  std::optional<Operand> zero;
};

/// A tensor of one element for each extent of `axis` (or of one), in front of the later axes of a tensor of this rank.
Operand along(const NodeContext& c, const Operand& x, size_t axis, size_t rank);

/// Whether all elements are known, and 0.
bool is_known_zero(const Lowering& l, const Operand& x);

/// Inputs `scale` and `zero` of the node, for a tensor of this rank.
Quantization quantization(const NodeContext& c, size_t scale, size_t zero, size_t axis, size_t rank);

/// round(x / scale) + zero, saturated
Operand quantized(Lowering& l, const Operand& x, const Quantization& q, DType to);

/// x - zero as whole numbers of `to`, which holds all differences.
Operand centred(Lowering& l, const Operand& x, const std::optional<Operand>& zero, DType to);

/// (x - zero) * scale
Operand dequantized(Lowering& l, const Operand& x, const Quantization& q);

/// Input `i`, the zero point of a product's first factor: one, or one a row; of its second: one, or one a column.
std::optional<Operand> row_zero(const NodeContext& c, size_t i);
std::optional<Operand> column_zero(const NodeContext& c, size_t i);

/// The same of scales, which must be there.
Operand row_scale(const NodeContext& c, size_t i);
Operand column_scale(const NodeContext& c, size_t i);

/// ONNX's operators that those of com.microsoft are lowered through.
void dynamic_quantize_linear(NodeContext& c);
void qlinear_conv(NodeContext& c);

}  // namespace hone::onnx
