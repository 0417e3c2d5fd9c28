// Parts of quantised operators: integers with a scale and a zero point.
#pragma once

#include <optional>

#include "compiler/frontend/lowering/lowering.h"

namespace hone::frontend {

/// Scales and zero points: of a whole tensor, or one for each extent of an axis.
struct Quantization {
  Operand scale;
  std::optional<Operand> zero;
};

/// A tensor of one element for each extent of `axis` (or of one), in front of the later axes of a tensor of this rank.
Operand along(Lowering& l, const Operand& x, size_t axis, size_t rank);

/// Whether all elements are known, and 0.
bool is_known_zero(const Lowering& l, const Operand& x);

/// round(x / scale) + zero, saturated
Operand quantized(Lowering& l, const Operand& x, const Quantization& q, DType to);

/// x - zero as whole numbers of `to`, which holds all differences.
Operand centred(Lowering& l, const Operand& x, const std::optional<Operand>& zero, DType to);

/// (x - zero) * scale
Operand dequantized(Lowering& l, const Operand& x, const Quantization& q);

}  // namespace hone::frontend
