// MediaPipe's poolings that tell where their largest elements were, and put elements back there.
#include <array>
#include <cstring>

#include "compiler/frontend/lowering/operators/largest_tap.h"
#include "compiler/frontend/lowering/operators/positions.h"
#include "compiler/frontend/lowering/operators/scatter.h"
#include "compiler/frontend/tflite/node/window_node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

// Options of both are TensorFlow Lite's TfLitePoolParams (tensorflow/lite/core/c/builtin_op_data.h) as it lies in
// memory, which MediaPipe (mediapipe/util/tflite/operations/max_pool_argmax.cc, max_unpooling.cc) takes as such: whole
// numbers of 32 bits, and behind them what a kernel keeps there.
struct PoolParams {
  int8_t padding = kSame;
  Extents stride, kernel;
  int8_t activation = 0;
};

PoolParams params_of(const NodeContext& c) {
  enum : size_t { kPadding, kStrideW, kStrideH, kFilterW, kFilterH, kActivation, kCount };
  enum : int32_t { kPadSame = 1, kPadValid = 2, kMostActivation = 4 };
  std::array<int32_t, kCount> numbers{};
  const auto* options = c.node.custom_options();
  HONE_USER_CHECK(options && options->size() >= sizeof(numbers))
      << "its options have " << (options ? options->size() : 0) << " bytes; there must be " << sizeof(numbers)
      << " at least";
  std::memcpy(numbers.data(), options->data(), sizeof(numbers));
  HONE_USER_CHECK(numbers[kPadding] == kPadSame || numbers[kPadding] == kPadValid)
      << "a padding of kind " << numbers[kPadding];
  HONE_USER_CHECK(numbers[kActivation] >= 0 && numbers[kActivation] <= kMostActivation)
      << "the fused activation " << numbers[kActivation] << " is not supported";
  return {numbers[kPadding] == kPadSame ? kSame : kValid,
          {numbers[kStrideH], numbers[kStrideW]},
          {numbers[kFilterH], numbers[kFilterW]},
          static_cast<int8_t>(numbers[kActivation])};
}

void require_image_of_floats(const Operand& x) {
  HONE_USER_CHECK(x.rank() == 4 && x.type.dtype == f32 && !x.is_empty()) << to_string(x.type);
}

// The second output has numbers of elements within their windows, a tenth more, so that a cast finds them.
void max_pool_with_position(NodeContext& c) {
  const Operand& x = c.in(0);
  c.require_outputs(2);
  require_image_of_floats(x);
  const PoolParams p = params_of(c);
  const Operand planes = c.l.planes(x);
  const Extents& s = planes.type.shape;
  const Window w = window_over({s[2], s[3]}, p.kernel, p.stride, {1, 1}, p.padding);
  const Operand taps = largest_taps(c.l, planes, w, shape_behind(w, s, s[1]));
  c.outputs[0] = c.l.pixels(activated(c.l, pooled(c.l, planes, w, true), p.activation));
  c.outputs[1] = c.l.pixels(c.l.pointwise("add", {c.l.cast(taps, f32), c.l.number(0.1f, f32)}));
}

// Each element goes to its position in its window, of as many windows as there are elements; all others are 0. The
// last of several at one place counts; positions outside are left out.
void max_unpool(NodeContext& c) {
  const Operand &x = c.in(0), &positions = c.in(1);
  require_image_of_floats(x);
  HONE_USER_CHECK(positions.type == x.type) << "positions " << to_string(positions.type) << " of " << to_string(x.type);
  const PoolParams p = params_of(c);
  ImageLowering& l = c.l;
  const Operand planes = l.planes(x);
  const Extents& s = planes.type.shape;
  Extents to{s[0], s[1]};
  for (size_t d = 0; d < 2; ++d) {
    HONE_USER_CHECK(p.kernel[d] >= 1 && p.kernel[d] <= kMostOfWindow) << "a kernel of " << p.kernel[d];
    to.push_back(s[2 + d] * p.kernel[d]);
  }
  element_count(to);
  HONE_USER_CHECK(p.stride[0] >= 1 && p.stride[1] >= 1 && p.stride[0] <= kMostOfWindow && p.stride[1] <= kMostOfWindow)
      << "a stride of " << p.stride[0] << " and " << p.stride[1];
  const Extents apart{s[0] * s[1], s[2], s[3]};
  const Operand tap = l.reshape(l.cast(l.planes(positions), i64), apart);
  const Operand width = l.number(static_cast<double>(p.kernel[1]), i64);
  const Operand row = l.pointwise("div", {tap, width}), column = l.pointwise("fmod", {tap, width});
  // Where each window begins, along one axis of space.
  const auto position = [&](const Operand& in_window, size_t d) {
    const int64_t before = std::max<int64_t>(0, (s[2 + d] - 1) * p.stride[d] + p.kernel[d] - to[2 + d]) / 2;
    const Operand first =
        l.pointwise("mul", {positions_along(l, s[2 + d], 1 + d, 3), l.number(static_cast<double>(p.stride[d]), i64)});
    return l.pointwise("add", {in_window, l.pointwise("sub", {first, l.number(static_cast<double>(before), i64)})});
  };
  const Operand flat = flat_positions(l, {positions_along(l, apart[0], 0, 3), position(row, 0), position(column, 1)},
                                      {apart[0], to[2], to[3]}, std::nullopt);
  c.outputs[0] = l.pixels(scattered_rows(l, l.filled(0, {f32, to}), planes, flat, apart[0] * to[2] * to[3], 1, "none"));
}

}  // namespace

void add_pool_position_operators(ConverterTable& t) {
  t.custom["MaxPoolingWithArgmax2D"] = {&max_pool_with_position};
  t.custom["MaxUnpooling2D"] = {&max_unpool};
}

}  // namespace hone::tflite
