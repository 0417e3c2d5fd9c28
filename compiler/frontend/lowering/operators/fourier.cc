#include "compiler/frontend/lowering/operators/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "compiler/ir/layout.h"

namespace hone::frontend {
namespace {

// e^(-+2 pi i jk / n) for k < columns: the real parts (`is_sine` false) or the imaginary ones.
Operand turns(Lowering& l, int64_t n, int64_t columns, bool is_sine, bool inverse, DType t) {
  HONE_USER_CHECK(n >= 1 && n <= kMostPoints && l.may_make(n * columns * 8)) << "a transform of " << n << " points";
  std::vector<double> values;
  const double scale = inverse ? 1.0 / static_cast<double>(n) : 1, sign = inverse ? 1 : -1;
  for (int64_t j = 0; j < n; ++j)
    for (int64_t k = 0; k < columns; ++k) {
      const double turn = 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      values.push_back(scale * (is_sine ? sign * std::sin(turn) : std::cos(turn)));
    }
  return reals(l, {n, columns}, values, t);
}

}  // namespace

Operand reals(Lowering& l, const Extents& shape, const std::vector<double>& values, DType t) {
  std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  return l.cast(l.constant(TensorData({f64, shape}, std::move(bytes))), t);
}

Operand fourier_transformed(Lowering& l, const Operand& x, int64_t n, bool onesided, bool inverse) {
  const size_t rank = x.rank();
  const int64_t parts = x.type.shape.back(), columns = onesided ? n / 2 + 1 : n;
  HONE_USER_CHECK(parts == 1 || parts == 2) << to_string(x.type) << " has no real and imaginary parts";
  const auto part = [&](int64_t p) {
    Extents begin(rank, 0), size = x.type.shape;
    begin.back() = p;
    size.back() = 1;
    size[rank - 2] = std::min(size[rank - 2], n);
    Operand out = l.slice(x, begin, Extents(rank, 1), size);
    size.pop_back();
    out = l.reshape(out, size);
    if (size.back() == n) return out;
    Extents zeros = size;
    zeros.back() = n - size.back();
    return l.concat({out, l.broadcast(l.number(0, x.type.dtype), zeros)}, static_cast<int64_t>(rank) - 2);
  };
  const Operand cosine = turns(l, n, columns, false, inverse, x.type.dtype),
                sine = turns(l, n, columns, true, inverse, x.type.dtype), real_in = part(0);
  Operand real = l.dense(real_in, cosine, false), imaginary = l.dense(real_in, sine, false);
  if (parts == 2) {
    const Operand imaginary_in = part(1);
    real = l.pointwise("sub", {real, l.dense(imaginary_in, sine, false)});
    imaginary = l.pointwise("add", {imaginary, l.dense(imaginary_in, cosine, false)});
  }
  Extents shape = real.type.shape;
  shape.push_back(1);
  return l.concat({l.reshape(real, shape), l.reshape(imaginary, shape)}, static_cast<int64_t>(rank) - 1);
}

}  // namespace hone::frontend
