// Transposed convolutions of images, as ordinary ones.
#pragma once

#include <array>
#include <optional>

#include "compiler/frontend/lowering/window.h"

namespace hone::frontend {

/// An axis of space of a transposed convolution.
struct TransposedAxis {
  int64_t in = 1;
  int64_t kernel = 1;  ///< with zeros between its taps: the stride at least
  int64_t stride = 1;
  int64_t before = 0;  ///< of what the kernel writes, cut off in front
  int64_t out = 1;
  int64_t periods() const { return (out + stride - 1) / stride; }
};
using TransposedAxes = std::array<TransposedAxis, 2>;

/// x [n, ci, h, w], weight [ci, co / groups, kh, kw] with zeros between dilated taps, bias [co] or none.
Operand transposed_convolution(Lowering& l, const TransposedAxes& axes, int64_t groups, const Operand& x,
                               const Operand& weight, const std::optional<Operand>& bias);

/// Zeros between the taps of the last two axes, and behind them up to the stride: each position has one tap at least.
Operand with_zeros(Lowering& l, Operand weight, const Window& w);

}  // namespace hone::frontend
