// Norms of rows: ONNX's own, and those that exporters and optimizers fuse with the operator in front.
#include <algorithm>
#include <cmath>

#include "compiler/frontend/onnx/operators/norms.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

Extents axes_from(int64_t axis, size_t rank) {
  Extents axes;
  for (size_t d = static_cast<size_t>(axis); d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  return axes;
}

// x in f32 at least: the operators compute with that type between input and output.
Operand widened(Lowering& l, const Operand& x) { return x.type.dtype.is_narrow_float() ? l.cast(x, f32) : x; }

std::string add_eps(double eps, DType t) { return fmt::format("add[{}]", number_text(eps, t)); }

// 1 / sqrt(mean of squares + eps)
Operand inverse_deviation(Lowering& l, const Operand& centred, const Extents& axes, double eps) {
  const Operand variance = l.reduce("mean", l.pointwise("square", {centred}), axes, true);
  return l.pointwise("rsqrt", {l.pointwise(add_eps(eps, variance.type.dtype), {variance})});
}

// The mean and the inverse of the deviation, which are outputs for training.
void write_moments(NodeContext& c, const Operand& x, int64_t axis, double eps) {
  const Extents axes = axes_from(axis, x.rank());
  if (!c.wants(1) && !c.wants(2)) return;
  const Operand wide = widened(c.l, x), mean = c.l.reduce("mean", wide, axes, true);
  if (c.wants(1)) c.outputs[1] = mean;
  if (c.wants(2)) c.outputs[2] = inverse_deviation(c.l, c.l.pointwise("sub", {wide, mean}), axes, eps);
}

Operand layer_norm_of(Lowering& l, const Operand& x, int64_t axis, double eps, const Operand& scale,
                      const std::optional<Operand>& bias) {
  const Extents row(x.type.shape.begin() + axis, x.type.shape.end());
  if (!l.b.operators().find("layer_norm")) {
    const Extents axes = axes_from(axis, x.rank());
    const Operand centred = l.pointwise("sub", {x, l.reduce("mean", x, axes, true)});
    const Operand variance = l.reduce("mean", l.pointwise("square", {centred}), axes, true);
    const Operand root = l.pointwise("sqrt", {l.pointwise(add_eps(eps, x.type.dtype), {variance})});
    const Operand out = l.pointwise("mul", {l.pointwise("div", {centred, root}), scale});
    return bias ? l.pointwise("add", {out, *bias}) : out;
  }
  std::vector<ValueId> ids{l.value(x), l.value(l.broadcast(l.cast(scale, x.type.dtype), row))};
  if (bias) ids.push_back(l.value(l.broadcast(l.cast(*bias, x.type.dtype), row)));
  return l.add("layer_norm",
               {{"axis", std::to_string(axis)}, {"eps", number_text(eps, f32)}, {"bias", bias ? "1" : "0"}}, ids,
               x.type.shape);
}

Operand rms_norm_of(Lowering& l, const Operand& x, int64_t axis, double eps, const Operand& scale) {
  const Extents row(x.type.shape.begin() + axis, x.type.shape.end());
  return l.add("rms_norm", {{"axis", std::to_string(axis)}, {"eps", number_text(eps, f32)}},
               {l.value(x), l.value(l.broadcast(l.cast(scale, x.type.dtype), row))}, x.type.shape);
}

std::optional<Operand> optional_input(const NodeContext& c, size_t i) {
  return c.has(i) ? std::optional(c.in(i)) : std::nullopt;
}

void layer_norm(NodeContext& c) {
  const Operand& x = c.in(0);
  const int64_t axis = axis_of(c.number("axis", -1), x.rank());
  const double eps = c.real("epsilon", 1e-5f);
  write_moments(c, x, axis, eps);
  c.outputs[0] = layer_norm_of(c.l, x, axis, eps, c.in(1), optional_input(c, 2));
}

void rms_norm(NodeContext& c) {
  const Operand& x = c.in(0);
  const int64_t axis = axis_of(c.number("axis", -1), x.rank());
  const double eps = c.real("epsilon", 1e-5f);
  if (c.wants(1)) c.outputs[1] = inverse_deviation(c.l, widened(c.l, x), axes_from(axis, x.rank()), eps);
  c.outputs[0] = rms_norm_of(c.l, x, axis, eps, c.in(1));
}

// The sum of the input, the skip connection, and perhaps a bias; of one image or for all.
Operand sum_with_skip(NodeContext& c, size_t bias) {
  Operand sum = c.l.pointwise("add", {c.in(0), c.in(1)});
  if (c.has(bias)) sum = c.l.pointwise("add", {sum, c.in(bias)});
  HONE_USER_CHECK(sum.type.shape == c.in(0).type.shape && sum.rank() >= 1)
      << to_string(c.in(1).type) << " skips to " << to_string(c.in(0).type);
  if (c.wants(3)) c.outputs[3] = sum;
  return sum;
}

void skip_layer_norm(NodeContext& c) {
  const Operand sum = sum_with_skip(c, 4);
  const auto axis = static_cast<int64_t>(sum.rank()) - 1;
  const double eps = c.real("epsilon", 1e-12f);
  write_moments(c, sum, axis, eps);
  c.outputs[0] = layer_norm_of(c.l, sum, axis, eps, c.in(2), optional_input(c, 3));
}

void skip_rms_norm(NodeContext& c) {
  const Operand sum = sum_with_skip(c, 3);
  const auto axis = static_cast<int64_t>(sum.rank()) - 1;
  const double eps = c.real("epsilon", 1e-12f);
  if (c.wants(2)) c.outputs[2] = inverse_deviation(c.l, widened(c.l, sum), {axis}, eps);
  c.outputs[0] = rms_norm_of(c.l, sum, axis, eps, c.in(2));
}

// Words, positions and segments of [batch, tokens] ids, summed and normalized.
void embed_layer_norm(NodeContext& c) {
  Lowering& l = c.l;
  const Operand &ids = c.in(0), &words = c.in(2), &positions = c.in(3);
  HONE_USER_CHECK(ids.rank() == 2 && words.rank() == 2 && positions.rank() == 2)
      << to_string(ids.type) << " of " << to_string(words.type) << " and " << to_string(positions.type);
  const int64_t tokens = ids.type.shape[1];
  const auto looked_up = [&](const Operand& table, const Operand& index) {
    Extents shape = index.type.shape;
    shape.push_back(table.type.shape[1]);
    return l.add("gather", {{"axis", "0"}}, {l.value(table), l.value(index)}, shape);
  };
  HONE_USER_CHECK(c.has(8) || positions.type.shape[0] >= tokens)
      << tokens << " tokens of " << to_string(positions.type);
  const Operand placed =
      c.has(8) ? looked_up(positions, c.in(8)) : l.slice(positions, {0, 0}, {1, 1}, {tokens, positions.type.shape[1]});
  Operand sum = l.pointwise("add", {looked_up(words, ids), placed});
  if (c.has(1)) {
    HONE_USER_CHECK(c.in(4).rank() == 2) << "segments " << to_string(c.in(4).type);
    sum = l.pointwise("add", {sum, looked_up(c.in(4), c.in(1))});
  }
  write_embeddings(c, sum, c.in(5), optional_input(c, 6));
}

// x / (sum of |x|^p)^(1/p); zeros where all elements are. Rows shorter than the least divisor, whose sums are hardly
// normal numbers, come out shorter than one.
void lp_normalization(NodeContext& c) {
  Lowering& l = c.l;
  const Operand& x = c.in(0);
  const int64_t axis = axis_of(c.number("axis", -1), x.rank()), p = c.number("p", 2);
  HONE_USER_CHECK(p == 1 || p == 2) << "p=" << p << " is neither 1 nor 2";
  const DType t = x.type.dtype == f64 ? f64 : f32;  // of the sum
  const double least_sum = t == f64 ? 1e-307 : 1e-38, least_length = std::sqrt(least_sum);
  if (p == 2 && l.b.operators().find("l2_norm"))
    return void(c.outputs[0] = l.add("l2_norm", {{"axis", std::to_string(axis)}, {"eps", number_text(least_length, t)}},
                                     {l.value(x)}, x.type.shape));
  const Operand wide = widened(l, x),
                sum = l.reduce("sum", l.pointwise(p == 1 ? "abs" : "square", {wide}), {axis}, true);
  const Operand least = l.pointwise(fmt::format("max[{}]", number_text(least_sum, t)), {sum});
  const Operand length = p == 1 ? least : l.pointwise("sqrt", {least});
  c.outputs[0] = l.cast(l.pointwise("div", {wide, length}), x.type.dtype);
}

// Each group of channels of an image is a row. Until opset 20 there was one scale and bias for each group.
void group_norm(NodeContext& c) {
  Lowering& l = c.l;
  const Operand& x = c.in(0);
  const int64_t groups = c.number("num_groups", 0);
  HONE_USER_CHECK(x.rank() >= 3 && groups >= 1 && x.type.shape[1] % groups == 0)
      << groups << " groups of " << to_string(x.type);
  const int64_t batch = x.type.shape[0], channels = x.type.shape[1],
                each = element_count({x.type.shape.begin() + 2, x.type.shape.end()});
  const Operand rows = l.reshape(x, {batch * groups, channels / groups * each}), wide = widened(l, rows);
  const Operand centred = l.pointwise("sub", {wide, l.reduce("mean", wide, {1}, true)});
  const Operand normal =
      l.cast(l.pointwise("mul", {centred, inverse_deviation(l, centred, {1}, c.real("epsilon", 1e-5f))}), x.type.dtype);
  const auto applied = [&](const char* function, const Operand& to, const Operand& values) {
    const int64_t count = element_count(values.type.shape);
    HONE_USER_CHECK(count == (c.opset < 21 ? groups : channels))
        << to_string(values.type) << " for " << groups << " groups of " << to_string(x.type);
    return l.pointwise(function, {l.reshape(to, {batch, count, element_count(x.type.shape) / batch / count}),
                                  l.reshape(values, {count, 1})});
  };
  c.outputs[0] = l.reshape(applied("add", applied("mul", normal, c.in(1)), c.in(2)), x.type.shape);
}

}  // namespace

void write_embeddings(NodeContext& c, const Operand& sum, const Operand& scale, const std::optional<Operand>& bias) {
  Lowering& l = c.l;
  const Extents &ids = c.in(0).type.shape, &words = c.in(2).type.shape;
  HONE_USER_CHECK(sum.type.shape == (Extents{ids[0], ids[1], words[1]})) << "embeddings " << to_string(sum.type);
  if (c.wants(1))
    c.outputs[1] =
        c.has(7)
            ? l.reduce("sum", l.cast(l.pointwise("equal", {c.in(7), l.number(1, c.in(7).type.dtype)}), i32), {1}, false)
            : l.broadcast(l.number(0, i32), {ids[0]});
  if (c.wants(2)) c.outputs[2] = sum;
  c.outputs[0] = layer_norm_of(l, sum, 2, c.real("epsilon", 1e-12f), scale, bias);
}

void add_norm_operators(ConverterTable& t) {
  for (const char* domain : {":", "com.microsoft:"}) {
    t[std::string(domain) + "LayerNormalization"] = &layer_norm;
    t[std::string(domain) + "SimplifiedLayerNormalization"] = &rms_norm;
  }
  t[":RMSNormalization"] = &rms_norm;
  t[":GroupNormalization"] = &group_norm;
  t[":LpNormalization"] = &lp_normalization;
  t["com.microsoft:SkipLayerNormalization"] = &skip_layer_norm;
  t["com.microsoft:SkipSimplifiedLayerNormalization"] = &skip_rms_norm;
  t["com.microsoft:EmbedLayerNormalization"] = &embed_layer_norm;
}

}  // namespace hone::onnx
