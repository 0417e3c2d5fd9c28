// Nodes on whole numbers with a scale and a zero point (frontend/lowering/quantization.h).
#pragma once

#include <optional>

#include "compiler/frontend/lowering/quantization.h"
#include "compiler/frontend/onnx/node/node.h"

namespace hone::onnx {

/// Inputs `scale` and `zero` of the node, for a tensor of this rank.
Quantization quantization(const NodeContext& c, size_t scale, size_t zero, size_t axis, size_t rank);

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
