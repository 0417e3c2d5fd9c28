// Operators on whole numbers that stand for real ones, as (number - zero) * scale says.
#pragma once

#include "compiler/frontend/tflite/node/node.h"

namespace hone::tflite {

/// Whether the tensor's elements, of 16 bits at most, stand for real numbers.
bool is_quantized(const TensorInfo& t);
/// The real numbers that they stand for, f32; known ones at once. f16 stand for themselves.
Operand real_numbers(ImageLowering& l, const Operand& x, const std::optional<Scales>& scales);
/// Real numbers as whole ones of this type: rounded to the nearest, halves to the even one, and saturated.
Operand whole_numbers(ImageLowering& l, const Operand& x, const Scales& scales, DType to);

/// UserError unless outputs have the types that the file says.
void check_types(const NodeContext& c);

/// Runs the converter on what it knows (Numbers), and makes of its outputs what the file says that they are.
void run_converter(NodeContext& c, const Converter& convert);

}  // namespace hone::tflite
