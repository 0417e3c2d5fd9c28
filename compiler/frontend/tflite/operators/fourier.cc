// Fourier transforms, and the parts of their complex numbers: a last axis of two that the model does not see.
#include "compiler/frontend/lowering/operators/fourier.h"

#include "compiler/frontend/tflite/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

// The last two axes of a tensor whose last axis has the parts, exchanged.
Operand with_axes_exchanged(Lowering& l, const Operand& x) {
  Extents perm;
  for (size_t d = 0; d < x.rank(); ++d) perm.push_back(static_cast<int64_t>(d));
  std::swap(perm[x.rank() - 3], perm[x.rank() - 2]);
  return l.transpose(x, perm);
}

// x [.., h, w] of floats, cut or zero-padded to as many points: [.., h, w / 2 + 1] frequencies.
void rfft2d(NodeContext& c) {
  Lowering& l = c.l;
  const Operand& x = c.in(0);
  const Extents points = c.constant_numbers(1, "number of points");
  HONE_USER_CHECK(x.rank() >= 2 && !x.is_empty() && x.type.dtype == f32 && points.size() == 2)
      << points.size() << " numbers of points for " << to_string(x.type);
  for (const int64_t n : points) HONE_USER_CHECK(n >= 1 && n <= kMostPoints) << "a transform of " << n << " points";
  Operand rows = x;
  // All rows are read where a column has more than one point.
  if (points[0] < x.type.shape[x.rank() - 2]) {
    Extents size = x.type.shape;
    size[x.rank() - 2] = points[0];
    rows = l.slice(x, Extents(x.rank(), 0), Extents(x.rank(), 1), size);
  }
  Extents apart = rows.type.shape;
  apart.push_back(1);
  const Operand of_rows = fourier_transformed(l, l.reshape(rows, apart), points[1], true, false);
  c.outputs[0] =
      points[0] == 1
          ? of_rows
          : with_axes_exchanged(l, fourier_transformed(l, with_axes_exchanged(l, of_rows), points[0], false, false));
}

Operand part_of_complex(NodeContext& c, int64_t which) {
  HONE_USER_CHECK(c.has(0) && c.read[0]->is_complex) << "input 0 has no complex numbers";
  const Operand& x = c.in(0);
  HONE_USER_CHECK(x.rank() >= 1 && x.type.shape.back() == 2) << to_string(x.type);
  Extents begin(x.rank(), 0), size = x.type.shape, shape(x.type.shape.begin(), x.type.shape.end() - 1);
  begin.back() = which;
  size.back() = 1;
  return c.l.reshape(c.l.slice(x, begin, Extents(x.rank(), 1), size), shape);
}

void real_part(NodeContext& c) { c.outputs[0] = part_of_complex(c, 0); }
void imaginary_part(NodeContext& c) { c.outputs[0] = part_of_complex(c, 1); }
void complex_size(NodeContext& c) {
  const auto square = [&](int64_t which) { return c.l.pointwise("square", {part_of_complex(c, which)}); };
  const Operand real = square(0);
  c.outputs[0] = c.l.pointwise("sqrt", {c.l.pointwise("add", {real, square(1)})});
}

}  // namespace

void add_fourier_operators(ConverterTable& t) {
  t.own[131] = {&rfft2d, Numbers::kReal, false, true};
  t.own[133] = {&imaginary_part, Numbers::kReal, false, true};
  t.own[134] = {&real_part, Numbers::kReal, false, true};
  t.own[135] = {&complex_size, Numbers::kReal, false, true};
}

}  // namespace hone::tflite
