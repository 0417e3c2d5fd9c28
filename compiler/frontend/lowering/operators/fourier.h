// Fourier transforms, as products with their matrices.
#pragma once

#include <vector>

#include "compiler/frontend/lowering/lowering.h"

namespace hone::frontend {

/// The most points of a transform along one axis.
inline constexpr int64_t kMostPoints = 1 << 16;

/// A constant of these numbers.
Operand reals(Lowering& l, const Extents& shape, const std::vector<double>& values, DType t);

/// The transform of x [..., length, 1 or 2] (real and imaginary parts) along the last axis but one, cut or zero-padded
/// to n points: [..., k, 2]. `onesided`: of the first n / 2 + 1 frequencies. UserError for too many points.
Operand fourier_transformed(Lowering& l, const Operand& x, int64_t n, bool onesided, bool inverse);

}  // namespace hone::frontend
