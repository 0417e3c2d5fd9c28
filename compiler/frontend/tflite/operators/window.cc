// Convolutions, poolings and transposed convolutions: images are planes here, and weights are turned while a model is
// read.
#include <algorithm>
#include <cstring>

#include "compiler/frontend/lowering/operators/transposed_convolution.h"
#include "compiler/frontend/tflite/node/window_node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

// conv2d on planes with weights [co, ci / groups, kh, kw].
Operand convolved(NodeContext& c, const Operand& planes, const Operand& weight, Window w,
                  const std::optional<Operand>& bias) {
  const Extents shape = shape_behind(w, planes.type.shape, weight.type.shape[0]);
  const bool is_sequence = make_image(&w, {planes.type.shape[2], planes.type.shape[3]});
  // A column's second axis of space is the one that is there.
  const auto seen = [&](const Extents& s) { return is_sequence ? Extents{s[0], s[1], 1, s[2]} : s; };
  AttributeTexts given = attributes_of(w);
  std::vector<ValueId> ids{c.l.as(planes, seen(planes.type.shape)), c.l.as(weight, seen(weight.type.shape))};
  if (bias) {
    given.emplace_back("epilogue", "bias");
    ids.push_back(c.l.as(*bias, {weight.type.shape[0]}));
  }
  return c.l.add("conv2d", given, ids, shape);
}

void require_images(const Operand& x, const Operand& weight) {
  HONE_USER_CHECK(x.rank() == 4 && weight.rank() == 4 && !x.is_empty() && !weight.is_empty())
      << "weight " << to_string(weight.type) << " of " << to_string(x.type);
}

// Weights [co, kh, kw, ci / groups].
void conv(NodeContext& c) {
  using Options = file::ConvOptions;
  const Operand &x = c.in(0), &weight = c.in(1);
  require_images(x, weight);
  const Extents &s = x.type.shape, &k = weight.type.shape;
  HONE_USER_CHECK(s[3] % k[3] == 0 && k[0] % (s[3] / k[3]) == 0)
      << "weight " << to_string(weight.type) << " of " << to_string(x.type);
  const Window w =
      window_over({s[1], s[2]}, {k[1], k[2]}, {c.option(&Options::stride_h), c.option(&Options::stride_w)},
                  {c.option(&Options::dilation_h, 1), c.option(&Options::dilation_w, 1)}, c.option(&Options::padding));
  const Operand out = convolved(c, c.l.planes(x), c.l.turned(weight, {0, 3, 1, 2}), w, bias_of(c, 2, k[0]));
  c.outputs[0] = c.l.pixels(activated(c.l, out, c.option(&Options::activation)));
}

// Weights [1, kh, kw, co]: the outputs of a channel follow each other. How many they are, the options say once more.
void depthwise_conv(NodeContext& c) {
  using Options = file::DepthwiseConvOptions;
  const Operand &x = c.in(0), &weight = c.in(1);
  require_images(x, weight);
  const Extents &s = x.type.shape, &k = weight.type.shape;
  HONE_USER_CHECK(k[0] == 1 && k[3] % s[3] == 0) << "weight " << to_string(weight.type) << " of " << to_string(x.type);
  const Window w =
      window_over({s[1], s[2]}, {k[1], k[2]}, {c.option(&Options::stride_h), c.option(&Options::stride_w)},
                  {c.option(&Options::dilation_h, 1), c.option(&Options::dilation_w, 1)}, c.option(&Options::padding));
  const Operand out = convolved(c, c.l.planes(x), c.l.turned(weight, {3, 0, 1, 2}), w, bias_of(c, 2, k[3]));
  c.outputs[0] = c.l.pixels(activated(c.l, out, c.option(&Options::activation)));
}

// Borders are no elements, of averages neither.
void pool(NodeContext& c) {
  using Options = file::PoolOptions;
  enum : int32_t { kAverage = 1, kL2 = 12, kMax = 17 };
  const Operand& x = c.in(0);
  require_images(x, x);
  Operand planes = c.l.planes(x);
  const Extents& s = planes.type.shape;
  const Window w =
      window_over({s[2], s[3]}, {c.option(&Options::filter_h), c.option(&Options::filter_w)},
                  {c.option(&Options::stride_h), c.option(&Options::stride_w)}, {1, 1}, c.option(&Options::padding));
  if (c.number == kL2) planes = c.l.pointwise("square", {planes});
  Operand out = pooled(c.l, planes, w, c.number == kMax);
  if (c.number == kL2) out = c.l.pointwise("sqrt", {out});
  c.outputs[0] = c.l.pixels(activated(c.l, out, c.option(&Options::activation)));
}

// A transposed convolution to an image of `size` (h, w): a convolution over that image, backwards. Weights
// [co, kh, kw, ci].
Operand transposed(NodeContext& c, const Operand& x, const Operand& weight, const std::optional<Operand>& bias,
                   const Extents& size, const Extents& stride, int8_t padding) {
  require_images(x, weight);
  const Extents &s = x.type.shape, &k = weight.type.shape;
  HONE_USER_CHECK(k[3] == s[3]) << "weight " << to_string(weight.type) << " of " << to_string(x.type);
  const Window w = window_over(size, {k[1], k[2]}, stride, {1, 1}, padding);
  constexpr int64_t kMostPositions = 1 << 12;  // each has a kernel of its own
  HONE_USER_CHECK(stride[0] * stride[1] <= kMostPositions)
      << "strides of " << stride[0] << " and " << stride[1] << "; a product of " << kMostPositions << " is the most";
  TransposedAxes axes;
  for (size_t d = 0; d < 2; ++d) {
    const int64_t whole = w.stride[d] * (s[1 + d] - 1) + w.kernel[d];
    HONE_USER_CHECK(size[d] >= 1 && size[d] <= whole + kMostOfWindow) << "an output of " << size[d] << " elements";
    axes[d] = {s[1 + d], std::max(w.kernel[d], w.stride[d]), w.stride[d], w.before[d], size[d]};
  }
  const Operand turned = with_zeros(c.l, c.l.turned(weight, {3, 0, 1, 2}), w);
  std::optional<Operand> flat;
  if (bias) flat = c.l.reshape(*bias, {k[0]});
  return transposed_convolution(c.l, axes, 1, c.l.planes(x), turned, flat);
}

void transpose_conv(NodeContext& c) {
  using Options = file::TransposeConvOptions;
  const Extents to = c.constant_numbers(0, "output shape");
  HONE_USER_CHECK(to.size() == 4 && c.in(1).rank() == 4) << "an output shape of " << to.size() << " numbers";
  const int64_t channels = c.in(1).type.shape[0];
  const Operand out =
      transposed(c, c.in(2), c.in(1), bias_of(c, 3, channels), {to[1], to[2]},
                 {c.option(&Options::stride_h), c.option(&Options::stride_w)}, c.option(&Options::padding));
  c.outputs[0] = c.l.pixels(activated(c.l, out, c.option(&Options::activation)));
}

// MediaPipe's: options are three whole numbers of 32 bits (padding, stride along a row, stride from row to row), and
// the output's extents follow.
void transpose_conv_with_bias(NodeContext& c) {
  enum : int32_t { kPadSame = 1, kPadValid = 2 };
  int32_t numbers[3];
  const auto* options = c.node.custom_options();
  HONE_USER_CHECK(options && options->size() >= sizeof(numbers))
      << "its options have " << (options ? options->size() : 0) << " bytes; there must be " << sizeof(numbers)
      << " at least";
  std::memcpy(numbers, options->data(), sizeof(numbers));
  HONE_USER_CHECK(numbers[0] == kPadSame || numbers[0] == kPadValid) << "a padding of kind " << numbers[0];
  const Extents stride{numbers[2], numbers[1]};
  const Operand &x = c.in(0), &weight = c.in(1);
  require_images(x, weight);
  Extents size;
  for (size_t d = 0; d < 2; ++d) {
    HONE_USER_CHECK(stride[d] >= 1 && stride[d] <= kMostOfWindow) << "a stride of " << stride[d];
    const int64_t in = x.type.shape[1 + d] * stride[d], kernel = weight.type.shape[1 + d];
    size.push_back(numbers[0] == kPadSame ? in : in + std::max<int64_t>(0, kernel - stride[d]));
  }
  c.outputs[0] = c.l.pixels(transposed(c, x, weight, bias_of(c, 2, weight.type.shape[0]), size, stride,
                                       numbers[0] == kPadSame ? kSame : kValid));
}

}  // namespace

void add_window_operators(ConverterTable& t) {
  t.own[1] = t.own[12] = t.own[17] = {&pool};
  t.own[3] = {&conv};
  t.own[4] = {&depthwise_conv};
  t.own[67] = {&transpose_conv};
  t.custom["Convolution2DTransposeBias"] = {&transpose_conv_with_bias};
}

}  // namespace hone::tflite
