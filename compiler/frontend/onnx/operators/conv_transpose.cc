// ConvTranspose.
#include <algorithm>

#include "compiler/frontend/lowering/transposed_convolution.h"
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

// Over three axes of space: zeros between the inputs, and a convolution with the kernel backwards.
void conv_transpose_of_volumes(NodeContext& c, const Window& w, const std::vector<TransposedAxis>& axes,
                               int64_t groups) {
  FileLowering& l = c.l;
  Operand x = c.in(0);
  Extents before(5, 0), after(5, 0);
  for (size_t d = 0; d < 3; ++d) {
    x = spread(l, x, 2 + d, w.stride[d]);
    const int64_t reach = (w.kernel[d] - 1) * w.dilation[d];
    before[2 + d] = reach - axes[d].before;
    after[2 + d] = axes[d].out + reach - x.type.shape[2 + d] - before[2 + d];
  }
  const Extents& s = c.in(1).type.shape;
  const Extents kernel(s.begin() + 2, s.end());
  const auto with_kernel = [&](Extents first) {
    first.insert(first.end(), kernel.begin(), kernel.end());
    return first;
  };
  const Operand exchanged =
      l.reshape(l.transpose(l.reshape(c.in(1), with_kernel({groups, s[0] / groups, s[1]})), {0, 2, 1, 3, 4, 5}),
                with_kernel({groups * s[1], s[0] / groups}));
  const Operand backwards =
      l.slice(exchanged, {0, 0, kernel[0] - 1, kernel[1] - 1, kernel[2] - 1}, {1, 1, -1, -1, -1}, exchanged.type.shape);
  onnx::Node plain;
  const auto set = [&](const char* name, const Extents& values) {
    onnx::Attribute* a = plain.add_attribute();
    a->set_name(name);
    for (const int64_t v : values) a->add_ints(v);
  };
  set("dilations", w.dilation);
  onnx::Attribute* group = plain.add_attribute();
  group->set_name("group");
  group->set_i(groups);
  NodeContext conv{
      plain,       c.opset, {with_borders(l, x, before, after), backwards, c.has(2) ? c.inputs[2] : std::nullopt},
      {Operand{}}, l,       {}};
  converters().at(":Conv")(conv);
  c.outputs[0] = conv.outputs[0];
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
  if (n == 3) return conv_transpose_of_volumes(c, w, axes, groups);
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
