// ConvTranspose.
#include <algorithm>

#include "compiler/frontend/lowering/operators/transposed_convolution.h"
#include "compiler/frontend/lowering/operators/volume.h"
#include "compiler/frontend/onnx/node/window_node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

// The pads in front of and behind one axis, and its extent, as ONNX has them.
void set_extent(const NodeContext& c, const Window& w, size_t d, size_t axes, TransposedAxis* a) {
  const Extents more = c.numbers("output_padding").value_or(Extents(axes, 0));
  HONE_USER_CHECK(more.size() == axes) << "output_padding has " << more.size() << " numbers for " << axes << " axes";
  HONE_USER_CHECK(more[d] >= 0 && more[d] <= kMostOfWindow) << "an output_padding of " << more[d];
  const int64_t whole = w.stride[d] * (a->in - 1) + (w.kernel[d] - 1) * w.dilation[d] + 1 + more[d];
  const std::string automatic = c.text("auto_pad", "NOTSET");
  HONE_USER_CHECK(automatic == "NOTSET" || automatic == "VALID" || automatic == "SAME_UPPER" ||
                  automatic == "SAME_LOWER")
      << "auto_pad=" << automatic;
  std::optional<int64_t> wanted;
  if (const auto shape = c.numbers("output_shape")) {
    HONE_USER_CHECK(shape->size() >= axes)
        << "output_shape has " << shape->size() << " numbers for " << axes << " axes";
    wanted = (*shape)[shape->size() - axes + d];
  } else if (automatic.starts_with("SAME")) {
    wanted = a->in * w.stride[d];
  }
  if (wanted) {
    const int64_t all = std::max<int64_t>(0, whole - *wanted);
    a->before = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
    a->out = *wanted;
  } else {
    const Extents pads = automatic == "VALID" ? Extents(2 * axes, 0) : c.numbers("pads").value_or(Extents(2 * axes, 0));
    HONE_USER_CHECK(pads.size() == 2 * axes) << "it has " << pads.size() << " pads for " << axes << " axes";
    for (const int64_t p : pads) HONE_USER_CHECK(p >= 0 && p <= kMostOfWindow) << "a pad of " << p;
    a->before = pads[d];
    a->out = whole - pads[d] - pads[axes + d];
  }
  HONE_USER_CHECK(a->out >= 1 && a->out <= whole + kMostOfWindow) << "an output of " << a->out << " elements";
}

void conv_transpose(NodeContext& c) {
  const Operand &x = c.in(0), &weight = c.in(1);
  require_image(x);
  HONE_USER_CHECK(weight.rank() == x.rank()) << "weight " << to_string(weight.type) << " of " << to_string(x.type);
  const size_t n = x.rank() - 2;
  const Extents image(x.type.shape.begin() + 2, x.type.shape.end());
  Window w = strides_of(c, image, {weight.type.shape.begin() + 2, weight.type.shape.end()});
  const int64_t groups = c.number("group", 1);
  HONE_USER_CHECK(groups >= 1 && weight.type.shape[0] == x.type.shape[1] && x.type.shape[1] % groups == 0)
      << "group=" << groups << " with weight " << to_string(weight.type) << " of " << to_string(x.type);
  const int64_t channels = weight.type.shape[1] * groups;
  Extents shape{x.type.shape[0], channels};
  std::vector<TransposedAxis> axes(n);
  for (size_t d = 0; d < n; ++d) {
    axes[d] = {image[d], std::max((w.kernel[d] - 1) * w.dilation[d] + 1, w.stride[d]), w.stride[d], 0, 1};
    set_extent(c, w, d, n, &axes[d]);
    shape.push_back(axes[d].out);
  }
  if (n == 3 && x.type.dtype.is_narrow_float()) return run_in_f32(c, &conv_transpose);
  if (n == 3)
    return void(c.outputs[0] = transposed_convolution_of_volumes(c.l, x, weight, c.has(2) ? c.inputs[2] : std::nullopt,
                                                                 w, axes, groups));
  // A sequence is an image of one row.
  const bool is_sequence = n == 1;
  if (is_sequence) {
    axes.insert(axes.begin(), TransposedAxis{});
    make_image(&w, image);
  }
  const auto as_image = [&](const Operand& t) { return c.l.reshape(t, image_shape(t.type.shape, is_sequence)); };
  std::optional<Operand> bias;
  if (c.has(2)) bias = c.l.reshape(c.in(2), {channels});
  const Operand out =
      transposed_convolution(c.l, {axes[0], axes[1]}, groups, as_image(x), with_zeros(c.l, as_image(weight), w), bias);
  c.outputs[0] = c.l.reshape(out, shape);
}

}  // namespace

void add_conv_transpose_operators(ConverterTable& t) { t[":ConvTranspose"] = &conv_transpose; }

}  // namespace hone::onnx
