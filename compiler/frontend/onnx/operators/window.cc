// Convolutions, poolings and norms over channels.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/frontend/lowering/operators/largest_tap.h"
#include "compiler/frontend/lowering/operators/volume.h"
#include "compiler/frontend/onnx/node/window_node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

Window window_of(const NodeContext& c, const Extents& image, const Extents& kernel) {
  Window w = strides_of(c, image, kernel);
  const size_t n = image.size();
  const std::string automatic = c.text("auto_pad", "NOTSET");
  HONE_USER_CHECK(automatic == "NOTSET" || automatic == "VALID" || automatic == "SAME_UPPER" ||
                  automatic == "SAME_LOWER")
      << "auto_pad=" << automatic;
  if (automatic == "NOTSET") {
    const Extents pads = c.numbers("pads").value_or(Extents(2 * n, 0));
    HONE_USER_CHECK(pads.size() == 2 * n) << "it has " << pads.size() << " pads for " << n << " axes";
    for (const int64_t p : pads) HONE_USER_CHECK(p >= 0 && p <= kMostOfWindow) << "a pad of " << p;
    w.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
    w.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
  } else if (automatic != "VALID") {
    for (size_t d = 0; d < n; ++d) {
      const int64_t out = (image[d] + w.stride[d] - 1) / w.stride[d];
      const int64_t all =
          std::max<int64_t>(0, (out - 1) * w.stride[d] + (kernel[d] - 1) * w.dilation[d] + 1 - image[d]);
      w.before[d] = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
      w.after[d] = all - w.before[d];
    }
  }
  return w;
}

// With ceil_mode the last window may reach beyond the padding, but begins inside.
void round_up(Window* w, const Extents& image) {
  for (size_t d = 0; d < image.size(); ++d) {
    const int64_t reach = (w->kernel[d] - 1) * w->dilation[d] + 1, room = image[d] + w->before[d] + w->after[d] - reach;
    if (room < 0) continue;
    int64_t steps = (room + w->stride[d] - 1) / w->stride[d];
    if (steps * w->stride[d] >= image[d] + w->before[d]) --steps;
    w->after[d] += std::max<int64_t>(0, steps * w->stride[d] - room);
  }
}

int64_t extent_behind(const Window& w, size_t d, int64_t extent) {
  return (extent + w.before[d] + w.after[d] - (w.kernel[d] - 1) * w.dilation[d] - 1) / w.stride[d] + 1;
}

void conv(NodeContext& c) {
  const Operand &x = c.in(0), &weight = c.in(1);
  require_image(x);
  HONE_USER_CHECK(weight.rank() == x.rank()) << "weight " << to_string(weight.type) << " of " << to_string(x.type);
  const Extents image(x.type.shape.begin() + 2, x.type.shape.end());
  Window w = window_of(c, image, {weight.type.shape.begin() + 2, weight.type.shape.end()});
  const int64_t groups = c.number("group", 1), channels = weight.type.shape[1];
  HONE_USER_CHECK(groups >= 1 && groups <= kMostOfWindow && channels <= kMostOfWindow &&
                  groups * channels == x.type.shape[1])
      << "group=" << groups << " with weight " << to_string(weight.type) << " of " << to_string(x.type);
  Extents shape{x.type.shape[0], weight.type.shape[0]};
  for (size_t d = 0; d < image.size(); ++d) shape.push_back(extent_behind(w, d, image[d]));
  if (image.size() == 3 && x.type.dtype.is_narrow_float()) return run_in_f32(c, &conv);
  if (image.size() == 3)
    return void(c.outputs[0] = convolution_of_volumes(c.l, x, weight, c.has(2) ? c.inputs[2] : std::nullopt, w, shape));
  const bool is_sequence = make_image(&w, image);
  AttributeTexts given = attributes_of(w);
  std::vector<ValueId> ids{c.l.as(x, image_shape(x.type.shape, is_sequence)),
                           c.l.as(weight, image_shape(weight.type.shape, is_sequence))};
  if (c.has(2)) {
    given.emplace_back("epilogue", "bias");
    ids.push_back(c.l.as(c.in(2), {weight.type.shape[0]}));
  }
  c.outputs[0] = c.l.add("conv2d", given, ids, shape);
}

// A pooling over three axes of space: over images, then over their depths. An average counts only elements of
// the image in both.
void pool_of_volumes(NodeContext& c, const Operand& x, const Window& w, const Extents& shape, const char* op,
                     const AttributeTexts& more) {
  const Extents& s = x.type.shape;
  const auto pooled = [&](const Operand& image, const Window& own, const Extents& as, const Extents& result) {
    AttributeTexts given = attributes_of(own);
    given.insert(given.end(), {{"kh", std::to_string(own.kernel[0])}, {"kw", std::to_string(own.kernel[1])}});
    given.insert(given.end(), more.begin(), more.end());
    return c.l.add(op, given, {c.l.as(image, as)}, result);
  };
  const Operand images =
      pooled(x, part_of(w, 1, 2), {s[0], s[1] * s[2], s[3], s[4]}, {s[0], s[1], s[2], shape[3], shape[4]});
  Window depths = part_of(w, 0, 1);
  for (Extents* e : {&depths.kernel, &depths.stride, &depths.dilation}) e->push_back(1);
  for (Extents* e : {&depths.before, &depths.after}) e->push_back(0);
  c.outputs[0] = pooled(images, depths, {s[0], s[1], s[2], shape[3] * shape[4]}, shape);
}

// Where in the tensor each window's largest element is, the first of several.
Operand positions_of_largest(NodeContext& c, const Operand& x, const Window& w, const Extents& shape) {
  Lowering& l = c.l;
  const size_t n = w.kernel.size();
  // Strides of the image's axes, in elements; column-major if so asked.
  const Extents& s = x.type.shape;
  Extents stride(n, 1);
  if (c.number("storage_order", 0))
    for (size_t d = 1; d < n; ++d) stride[d] = stride[d - 1] * s[2 + d - 1];
  else
    for (size_t d = n - 1; d-- > 0;) stride[d] = stride[d + 1] * s[2 + d + 1];
  const Operand best = largest_taps(l, x, w, shape);
  Extents offsets;
  for (int64_t tap = 0; tap < element_count(w.kernel); ++tap) {
    int64_t offset = 0;
    for (size_t d = 0; d < n; ++d) offset += coordinate_of(w.kernel, tap, d) * w.dilation[d] * stride[d];
    offsets.push_back(offset);
  }
  const Extents positions(shape.begin() + 2, shape.end());
  const int64_t count = element_count(positions), images = shape[0] * shape[1];
  HONE_USER_CHECK(l.may_make(16 * (count + images))) << count << " indices";
  const Operand from_begin = l.add("gather", {{"axis", "0"}}, {l.value(l.numbers(offsets)), l.value(best)}, shape);
  Extents begins, of_image;
  for (int64_t p = 0; p < count; ++p) {
    int64_t begin = 0;
    for (size_t d = 0; d < n; ++d) begin += (coordinate_of(positions, p, d) * w.stride[d] - w.before[d]) * stride[d];
    begins.push_back(begin);
  }
  for (int64_t i = 0; i < images; ++i) of_image.push_back(i * element_count({s.begin() + 2, s.end()}));
  Extents by_image(shape.size(), 1);
  by_image[0] = shape[0], by_image[1] = shape[1];
  return l.pointwise("add", {l.pointwise("add", {from_begin, l.reshape(l.numbers(begins), positions)}),
                             l.reshape(l.numbers(of_image), by_image)});
}

// Windows of `x`, which stands for the node's input: their largest elements, or their averages.
void pool_of(NodeContext& c, Operand x, bool is_max, bool counts_pad) {
  require_image(x);
  Extents image(x.type.shape.begin() + 2, x.type.shape.end());
  const auto kernel = c.numbers("kernel_shape");
  HONE_USER_CHECK(kernel) << "it has no kernel_shape";
  Window w = window_of(c, image, *kernel);
  if (c.number("ceil_mode", 0)) {
    const Extents after = w.after;
    round_up(&w, image);
    // The average counts padding, but not the parts of the last windows beyond it: the padding becomes elements.
    if (c.node.op_type() == "AveragePool" && counts_pad && after != w.after) {
      Extents in_front{0, 0}, behind{0, 0};
      for (size_t d = 0; d < image.size(); ++d) {
        in_front.push_back(w.before[d]);
        behind.push_back(after[d]);
        image[d] += w.before[d] + after[d];
        w.before[d] = 0;
        w.after[d] -= after[d];
      }
      x = with_borders(c.l, x, in_front, behind);
      counts_pad = false;
    }
  }
  Extents shape{x.type.shape[0], x.type.shape[1]};
  for (size_t d = 0; d < image.size(); ++d) shape.push_back(extent_behind(w, d, image[d]));
  if (c.outputs.size() > 1 && (c.is_wanted.size() < 2 || c.is_wanted[1])) {
    HONE_USER_CHECK(is_max) << "output 1 is not supported";
    c.outputs[1] = positions_of_largest(c, x, w, shape);
  }
  AttributeTexts counts;
  if (!is_max) counts.emplace_back("count_include_pad", counts_pad ? "1" : "0");
  if (image.size() == 3) return pool_of_volumes(c, x, w, shape, is_max ? "max_pool2d" : "avg_pool2d", counts);
  const bool is_sequence = make_image(&w, image);
  AttributeTexts given = attributes_of(w);
  given.insert(given.end(), {{"kh", std::to_string(w.kernel[0])}, {"kw", std::to_string(w.kernel[1])}});
  given.insert(given.end(), counts.begin(), counts.end());
  c.outputs[0] =
      c.l.add(is_max ? "max_pool2d" : "avg_pool2d", given, {c.l.as(x, image_shape(x.type.shape, is_sequence))}, shape);
}

void pool(NodeContext& c) {
  const Operand& x = c.in(0);
  const bool is_max = c.node.op_type() == "MaxPool";
  if (!is_max && x.rank() == 5 && x.type.dtype.is_narrow_float()) return run_in_f32(c, &pool);
  pool_of(c, x, is_max, c.number("count_include_pad", 0) != 0);
}

// The axes of an image's pixels.
Extents pixel_axes(const Operand& x) {
  HONE_USER_CHECK(x.rank() >= 3) << to_string(x.type);
  Extents axes;
  for (size_t d = 2; d < x.rank(); ++d) axes.push_back(static_cast<int64_t>(d));
  return axes;
}

void global_pool(NodeContext& c) {
  const Operand& x = c.in(0);
  c.outputs[0] = c.l.reduce(c.node.op_type() == "GlobalMaxPool" ? "max" : "mean", x, pixel_axes(x), true);
}

// (sum of |x|^p)^(1/p), of windows or of whole images. A sum is an average times the elements of a window, borders of
// zeros among them.
void lp_pool(NodeContext& c) {
  const Operand& x = c.in(0);
  const int64_t p = c.number("p", 2);
  constexpr int64_t kMostPower = 64;
  HONE_USER_CHECK(p >= 1 && p <= kMostPower) << "p=" << p << " is not between 1 and " << kMostPower;
  const Operand wide = x.type.dtype.is_narrow_float() ? c.l.cast(x, f32) : x;
  const DType t = wide.type.dtype;
  const auto to_power = [&](double power) { return fmt::format("pow[{}]", number_text(power, t)); };
  Operand powers = c.l.pointwise(p == 2 ? "square" : "abs", {wide}), sum;
  if (p > 2) powers = c.l.pointwise(to_power(static_cast<double>(p)), {powers});
  if (c.node.op_type() == "GlobalLpPool") {
    sum = c.l.reduce("sum", powers, pixel_axes(x), true);
  } else {
    pool_of(c, powers, /*is_max=*/false, /*counts_pad=*/true);
    const auto taps = static_cast<double>(element_count(*c.numbers("kernel_shape")));
    sum = c.l.pointwise(fmt::format("mul[{}]", number_text(taps, t)), {c.outputs[0]});
  }
  if (p == 2) sum = c.l.pointwise("sqrt", {sum});
  if (p > 2) sum = c.l.pointwise(to_power(1.0 / static_cast<double>(p)), {sum});
  c.outputs[0] = c.l.cast(sum, x.type.dtype);
}

// A tensor of one element for each channel, in front of x's channels.
Operand per_channel(const NodeContext& c, const Operand& values, const Operand& x) {
  HONE_USER_CHECK(x.rank() >= 2 && element_count(values.type.shape) == x.type.shape[1])
      << to_string(values.type) << " for the channels of " << to_string(x.type);
  Extents shape(x.rank() - 1, 1);
  shape[0] = x.type.shape[1];
  return c.l.reshape(values, shape);
}

// As while training: by the input's own mean and variance, with which the running ones are mixed.
void normalize_by_itself(NodeContext& c, const Operand& x) {
  Lowering& l = c.l;
  const DType t = x.type.dtype == f64 ? f64 : f32;
  const Operand wide = l.cast(x, t);
  Extents axes{0};
  for (size_t d = 2; d < x.rank(); ++d) axes.push_back(static_cast<int64_t>(d));
  const Operand mean = l.reduce("mean", wide, axes, true), centred = l.pointwise("sub", {wide, mean});
  const Operand variance = l.reduce("mean", l.pointwise("square", {centred}), axes, true);
  const auto add_eps = fmt::format("add[{}]", number_text(c.real("epsilon", 1e-5f), t));
  const Operand normal = l.pointwise("div", {centred, l.pointwise("sqrt", {l.pointwise(add_eps, {variance})})});
  const Operand scaled = l.pointwise("mul", {normal, per_channel(c, l.cast(c.in(1), t), x)});
  c.outputs[0] = l.cast(l.pointwise("add", {scaled, per_channel(c, l.cast(c.in(2), t), x)}), x.type.dtype);
  const double momentum = c.real("momentum", 0.9f);
  const auto part = [&](double of, const Operand& v) {
    return l.pointwise(fmt::format("mul[{}]", number_text(of, t)), {v});
  };
  for (const auto& [output, now] : {std::pair<size_t, Operand>{1, mean}, {2, variance}}) {
    if (output >= c.outputs.size()) continue;
    const Operand &before = c.in(2 + output), flat = l.reshape(now, before.type.shape);
    c.outputs[output] =
        l.cast(l.pointwise("add", {part(momentum, l.cast(before, t)), part(1 - momentum, flat)}), before.type.dtype);
  }
}

// (x - mean) / sqrt(var + eps) * scale + bias, as x * a + b with a and b known.
void batch_normalization(NodeContext& c) {
  HONE_USER_CHECK(c.number("spatial", 1) == 1) << "spatial=0 is not supported";
  const Operand& x = c.in(0);
  if (c.number("training_mode", 0) != 0) return normalize_by_itself(c, x);
  c.require_outputs(1);
  const DType t = x.type.dtype;
  const auto add_eps = fmt::format("add[{}]", number_text(c.real("epsilon", 1e-5f), f32));
  const auto in_f32 = [&](size_t i) { return t.is_narrow_float() ? c.l.cast(c.in(i), f32) : c.in(i); };
  const Operand scale = in_f32(1), bias = in_f32(2), mean = in_f32(3), variance = in_f32(4);
  const Operand root = c.l.pointwise("sqrt", {c.l.pointwise(add_eps, {variance})});
  const Operand a = c.l.pointwise("div", {scale, root});
  const Operand b = c.l.pointwise("sub", {bias, c.l.pointwise("mul", {mean, a})});
  const Operand product = c.l.pointwise("mul", {x, per_channel(c, c.l.cast(a, t), x)});
  c.outputs[0] = c.l.pointwise("add", {product, per_channel(c, c.l.cast(b, t), x)});
}

void instance_normalization(NodeContext& c) {
  const Operand& x = c.in(0);
  const Extents axes = pixel_axes(x);
  const Operand centred = c.l.pointwise("sub", {x, c.l.reduce("mean", x, axes, true)});
  const Operand variance = c.l.reduce("mean", c.l.pointwise("square", {centred}), axes, true);
  const auto add_eps = fmt::format("add[{}]", number_text(c.real("epsilon", 1e-5f), x.type.dtype));
  const Operand root = c.l.pointwise("sqrt", {c.l.pointwise(add_eps, {variance})});
  const Operand normal = c.l.pointwise("div", {centred, root});
  c.outputs[0] =
      c.l.pointwise("add", {c.l.pointwise("mul", {normal, per_channel(c, c.in(1), x)}), per_channel(c, c.in(2), x)});
}

// x / (bias + alpha * mean)^beta, with the mean over `size` neighbouring channels and zeros beyond the first and the
// last channel: an average pooling whose image has the channels as rows.
void local_response_normalization(NodeContext& c) {
  const Operand& x = c.in(0);
  HONE_USER_CHECK(x.rank() >= 3) << to_string(x.type);
  const int64_t size = c.number("size", 0);
  HONE_USER_CHECK(size >= 1 && size <= kMostOfWindow) << "size=" << size;
  const DType t = x.type.dtype;
  const Operand wide = t.is_narrow_float() ? c.l.cast(x, f32) : x;
  const Extents& s = x.type.shape;
  const Extents image{s[0], 1, s[1], element_count({s.begin() + 2, s.end()})};
  const Window w{{size, 1}, {1, 1}, {1, 1}, {(size - 1) / 2, 0}, {size / 2, 0}};
  AttributeTexts given = attributes_of(w);
  given.insert(given.end(), {{"kh", std::to_string(size)}, {"kw", "1"}, {"count_include_pad", "1"}});
  const Operand squares = c.l.pointwise("square", {wide});
  const Operand mean = c.l.add("avg_pool2d", given, {c.l.as(squares, image)}, s);
  const auto times_alpha = fmt::format("mul[{}]", number_text(c.real("alpha", 1e-4f), f32));
  const auto add_bias = fmt::format("add[{}]", number_text(c.real("bias", 1), f32));
  const auto to_beta = fmt::format("pow[{}]", number_text(-c.real("beta", 0.75), f32));
  const Operand scaled = c.l.pointwise(add_bias, {c.l.pointwise(times_alpha, {mean})});
  c.outputs[0] = c.l.cast(c.l.pointwise("mul", {wide, c.l.pointwise(to_beta, {scaled})}), t);
}

}  // namespace

void add_window_operators(ConverterTable& t) {
  t[":Conv"] = &conv;
  t[":MaxPool"] = &pool;
  t[":AveragePool"] = &pool;
  t[":GlobalAveragePool"] = &global_pool;
  t[":GlobalMaxPool"] = &global_pool;
  t[":LpPool"] = &lp_pool;
  t[":GlobalLpPool"] = &lp_pool;
  t[":BatchNormalization"] = &batch_normalization;
  t[":InstanceNormalization"] = &in_f32<&instance_normalization>;
  t[":LRN"] = &local_response_normalization;
}

}  // namespace hone::onnx
