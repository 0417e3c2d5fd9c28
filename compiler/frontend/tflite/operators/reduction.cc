// Reductions, and what works on rows: softmax, norms, extremes.
#include <algorithm>

#include "compiler/frontend/lowering/operators/product_over.h"
#include "compiler/frontend/lowering/window.h"
#include "compiler/frontend/tflite/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

enum : int32_t { kMean = 40, kSum = 74, kProduct = 81, kGreatest = 82, kLeast = 89, kAny = 91, kAll = 140 };

void reduction(NodeContext& c) {
  const Operand& x = c.in(0);
  Extents axes;
  for (const int64_t axis : c.constant_numbers(1, "axes")) axes.push_back(axis_of(axis, x.rank()));
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  HONE_USER_CHECK(!x.is_empty()) << to_string(x.type);
  const bool keeps = c.option(&file::ReducerOptions::keep_dims);
  const std::string kind = c.number == kMean                           ? "mean"
                           : c.number == kSum                          ? "sum"
                           : c.number == kGreatest || c.number == kAny ? "max"
                                                                       : "min";
  if (c.number == kProduct) return void(c.outputs[0] = product_over(c.l, x, axes, keeps));
  // The largest of bools says whether any holds, the smallest whether all do.
  if (x.type.dtype.is_bool()) {
    HONE_USER_CHECK(kind == "max" || kind == "min") << to_string(x.type);
    return void(c.outputs[0] = c.l.cast(c.l.reduce(kind, c.l.cast(x, u8), axes, keeps), boolean));
  }
  // A mean of each channel keeps the axes, as other formats have this layer.
  if (const Operand* planes = c.l.known_planes(x); planes && axes == Extents{1, 2}) {
    const Operand out = c.l.reduce(kind, *planes, {2, 3}, true);
    c.outputs[0] = keeps ? c.l.pixels(out) : c.l.reshape(out, {out.type.shape[0], out.type.shape[1]});
    return;
  }
  c.outputs[0] = c.l.reduce(kind, x, axes, keeps);
}

void arg_extreme(NodeContext& c) {
  constexpr int32_t kArgMax = 56;
  Operand x = c.in(0);
  if (x.type.dtype.is_bool()) x = c.l.cast(x, u8);
  const int64_t axis = axis_of(c.constant_number(1, "axis"), x.rank());
  HONE_USER_CHECK(!x.is_empty()) << to_string(x.type);
  Extents shape = x.type.shape;
  shape.erase(shape.begin() + axis);
  const Operand* planes = axis == 3 ? c.l.known_planes(x) : nullptr;  // of channels, for each pixel
  const AttributeTexts given{{"axis", std::to_string(planes ? 1 : axis)}, {"keepdims", "0"}, {"last", "0"}};
  const Operand positions =
      c.l.add(c.number == kArgMax ? "argmax" : "argmin", given, {c.l.value(planes ? *planes : x)}, shape);
  c.outputs[0] = c.l.cast(positions, c.type_of_output(0));
}

void top_k(NodeContext& c) {
  const Operand& x = c.in(0);
  const int64_t k = c.constant_number(1, "k");
  c.require_outputs(2);
  HONE_USER_CHECK(x.rank() >= 1 && k >= 1 && k <= x.type.shape.back()) << "k=" << k << " of " << to_string(x.type);
  const std::string axis = std::to_string(x.rank() - 1);
  Extents shape = x.type.shape;
  shape.back() = k;
  const Operand positions =
      c.l.add("top_k", {{"axis", axis}, {"k", std::to_string(k)}, {"largest", "1"}}, {c.l.value(x)}, shape);
  c.outputs[0] = c.l.add("gather_elements", {{"axis", axis}}, {c.l.value(x), c.l.value(positions)}, shape);
  c.outputs[1] = c.l.cast(positions, c.type_of_output(1));
}

void softmax_by_rows(NodeContext& c, const Operand& x, bool is_log) {
  HONE_USER_CHECK(x.rank() >= 1 && !x.is_empty()) << to_string(x.type);
  const auto axis = static_cast<int64_t>(x.rank()) - 1;
  if (!is_log || c.l.b.operators().find("log_softmax"))
    return void(c.outputs[0] = c.l.add(is_log ? "log_softmax" : "softmax", {{"axis", std::to_string(axis)}},
                                       {c.l.value(x)}, x.type.shape));
  const Operand shifted = c.l.pointwise("sub", {x, c.l.reduce("max", x, {axis}, true)});
  const Operand sum = c.l.reduce("sum", c.l.pointwise("exp", {shifted}), {axis}, true);
  c.outputs[0] = c.l.pointwise("sub", {shifted, c.l.pointwise("log", {sum})});
}

void softmax(NodeContext& c) {
  const double beta = static_cast<double>(c.option(&file::SoftmaxOptions::beta));
  HONE_USER_CHECK(beta > 0) << "beta=" << beta;
  const Operand& x = c.in(0);
  softmax_by_rows(c, beta == 1 ? x : c.l.pointwise(fmt::format("mul[{}]", number_text(beta, x.type.dtype)), {x}),
                  false);
}
void log_softmax(NodeContext& c) { softmax_by_rows(c, c.in(0), true); }

// By doubling: sums of two neighbours, of four, and so on.
void cumulative_sum(NodeContext& c) {
  using Options = file::CumsumOptions;
  Operand sum = c.in(0);
  HONE_USER_CHECK(!sum.is_empty()) << to_string(sum.type);
  const auto d = static_cast<size_t>(axis_of(c.constant_number(1, "axis"), sum.rank()));
  const int64_t extent = sum.type.shape[d];
  const bool reverses = c.option(&Options::reverse);
  // Each element moved by so many positions: from the begin, or from the end.
  const auto moved = [&](const Operand& x, int64_t by) {
    Extents before(x.rank(), 0), after(x.rank(), 0);
    (reverses ? after : before)[d] = by;
    (reverses ? before : after)[d] = -by;
    return with_borders(c.l, x, before, after);
  };
  for (int64_t by = 1; by < extent; by *= 2) sum = c.l.pointwise("add", {sum, moved(sum, by)});
  if (c.option(&Options::exclusive)) sum = extent == 1 ? c.l.filled(0, sum.type) : moved(sum, 1);
  c.outputs[0] = sum;
}

// x / max(sqrt(sum of squares), 1e-6)
void l2_normalization(NodeContext& c) {
  const Operand& x = c.in(0);
  HONE_USER_CHECK(x.rank() >= 1 && !x.is_empty()) << to_string(x.type);
  const Operand sum = c.l.reduce("sum", c.l.pointwise("square", {x}), {static_cast<int64_t>(x.rank()) - 1}, true);
  const Operand length = c.l.pointwise("maximum", {c.l.pointwise("sqrt", {sum}), c.l.number(1e-6, x.type.dtype)});
  const Operand out = c.l.pointwise("div", {x, length});
  c.outputs[0] = activated(c.l, out, c.option(&file::NormOptions::activation));
}

// x / (bias + alpha * sum of squares)^beta, the sum over 2 radius + 1 neighbouring channels: an average pooling along
// them, of as many elements everywhere, times these.
void local_response_normalization(NodeContext& c) {
  using Options = file::ResponseOptions;
  const Operand& x = c.in(0);
  const int64_t radius = c.option(&Options::radius), size = 2 * radius + 1;
  HONE_USER_CHECK(x.rank() >= 1 && !x.is_empty() && radius >= 0 && radius < kMostOfWindow / 2)
      << "radius=" << radius << " of " << to_string(x.type);
  const int64_t channels = x.type.shape.back();
  const Window w{{1, size}, {1, 1}, {1, 1}, {0, radius}, {0, radius}};
  AttributeTexts given = attributes_of(w);
  given.insert(given.end(), {{"kh", "1"}, {"kw", std::to_string(size)}, {"count_include_pad", "1"}});
  const Operand squares = c.l.pointwise("square", {x});
  const Operand mean = c.l.add(
      "avg_pool2d", given, {c.l.as(squares, {element_count(x.type.shape) / channels, 1, 1, channels})}, x.type.shape);
  const auto number = [&](const char* function, double v) {
    return fmt::format("{}[{}]", function, number_text(v, x.type.dtype));
  };
  const double alpha = static_cast<double>(c.option(&Options::alpha)) * static_cast<double>(size);
  const Operand scaled = c.l.pointwise(number("mul", alpha), {mean});
  const Operand moved = c.l.pointwise(number("add", static_cast<double>(c.option(&Options::bias))), {scaled});
  const Operand power = c.l.pointwise(number("pow", -static_cast<double>(c.option(&Options::beta))), {moved});
  c.outputs[0] = c.l.pointwise("mul", {x, power});
}

}  // namespace

void add_reduction_operators(ConverterTable& t) {
  for (const int32_t number : {kMean, kSum, kProduct, kGreatest, kLeast, kAny, kAll}) t.own[number] = {&reduction};
  t.own[11] = {&l2_normalization};
  t.own[13] = {&local_response_normalization};
  t.own[25] = {&softmax};
  t.own[48] = {&top_k};
  t.own[50] = {&log_softmax};
  t.own[128] = {&cumulative_sum};
  t.own[56] = t.own[79] = {&arg_extreme};
}

}  // namespace hone::tflite
