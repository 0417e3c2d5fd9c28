// Windows as operators of TensorFlow Lite have them.
#pragma once

#include <optional>

#include "compiler/frontend/lowering/window.h"
#include "compiler/frontend/tflite/node/node.h"

namespace hone::tflite {

/// How borders are found: as many windows as there are steps in the image, or those that lie in it.
inline constexpr int8_t kSame = 0, kValid = 1;

/// Windows over an image, or a volume, of these extents. UserError for another padding, and for numbers out of range.
Window window_over(const Extents& image, const Extents& kernel, const Extents& stride, const Extents& dilation,
                   int8_t padding);

/// [n, channels, ..] behind windows over `planes` [n, c, ..]. UserError where a window does not fit.
Extents shape_behind(const Window& w, const Extents& planes, int64_t channels);

/// The largest element of each window over planes [n, c, h, w], or the average of those that are no border.
Operand pooled(Lowering& l, const Operand& planes, Window w, bool is_max);

/// Input `i`, a number for each channel; none where it is left out.
std::optional<Operand> bias_of(const NodeContext& c, size_t i, int64_t channels);

}  // namespace hone::tflite
