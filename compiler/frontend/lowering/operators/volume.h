// Convolutions over three axes of space, made of those of images.
#pragma once

#include <optional>
#include <vector>

#include "compiler/frontend/lowering/operators/transposed_convolution.h"
#include "compiler/frontend/lowering/window.h"

namespace hone::frontend {

/// x [n, ci, d, h, w], weight [co, ci / groups, kd, kh, kw], bias [co] or none; `shape` is that behind the windows.
/// UserError where the kernel is deeper than 256.
Operand convolution_of_volumes(Lowering& l, const Operand& x, const Operand& weight, const std::optional<Operand>& bias,
                               const Window& w, const Extents& shape);

/// x [n, ci, d, h, w], weight [ci, co / groups, kd, kh, kw] (as the file has it: without zeros between dilated taps),
/// bias [co] or none. `axes`: of the axes of space.
Operand transposed_convolution_of_volumes(Lowering& l, const Operand& x, const Operand& weight,
                                          const std::optional<Operand>& bias, const Window& w,
                                          const std::vector<TransposedAxis>& axes, int64_t groups);

}  // namespace hone::frontend
