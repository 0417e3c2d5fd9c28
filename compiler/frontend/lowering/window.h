// Windows over one to three axes of space, which convolutions and poolings share.
#pragma once

#include "compiler/frontend/lowering/lowering.h"

namespace hone::frontend {

/// The most that a kernel's extent, a stride, a dilation or a pad may be.
inline constexpr int64_t kMostOfWindow = int64_t{1} << 24;

/// The extents, steps and pads of a window along its axes (one to three of them).
struct Window {
  Extents kernel, stride, dilation, before, after;
};

/// The part of a window along `count` axes from `first` on.
Window part_of(const Window& w, size_t first, size_t count);

/// [n, c, l], or [n, c, l, 1] of a column, as an image.
inline Extents image_shape(const Extents& shape, bool is_sequence) {
  return is_sequence ? Extents{shape[0], shape[1], 1, shape[2]} : shape;
}

/// Sequences, of one axis or in one column that the window stays in, become images of one row, along which kernels have
/// their vectors and tiles. Returns whether it was one.
bool make_image(Window* w, const Extents& image);

/// UserError unless `x` is [n, c, l], [n, c, h, w] or [n, c, d, h, w].
void require_image(const Operand& x);

/// Zeros between the elements along an axis, so that they stand `stride` apart.
Operand spread(Lowering& l, const Operand& x, size_t axis, int64_t stride);

/// So many elements more in front of and behind each axis, of this number as pads have it; negative ones are cut off.
Operand with_borders(Lowering& l, const Operand& x, const Extents& before, const Extents& after,
                     const std::string& value = "0");

/// The attributes for conv2d and the poolings, from a window with two axes.
AttributeTexts attributes_of(const Window& w);

}  // namespace hone::frontend
