#include "compiler/frontend/lowering/operators/volume.h"

#include "compiler/ir/layout.h"

namespace hone::frontend {
namespace {

// [n, c, d, h, w] -> [n, d, c, h, w] and back.
Operand with_depth_outside(Lowering& l, const Operand& x) { return l.transpose(x, {0, 2, 1, 3, 4}); }

}  // namespace

// A sum of 2-D convolutions: one for each depth of the kernel, which takes
// the image at each output depth as an image of a batch.
Operand convolution_of_volumes(Lowering& l, const Operand& x, const Operand& weight, const std::optional<Operand>& bias,
                               const Window& w, const Extents& shape) {
  const Extents &s = x.type.shape, &k = weight.type.shape;
  constexpr int64_t kMostDepths = 256;  // each is a layer
  HONE_USER_CHECK(k[2] <= kMostDepths) << "a kernel of depth " << k[2] << "; " << kMostDepths << " are supported";
  Operand images = with_depth_outside(l, x);
  if (w.before[0] + w.after[0] > 0)
    images = l.add("pad",
                   {{"before", join({0, w.before[0], 0, 0, 0})},
                    {"after", join({0, w.after[0], 0, 0, 0})},
                    {"mode", "constant"},
                    {"value", "0"}},
                   {l.value(images)});
  const AttributeTexts given = attributes_of(part_of(w, 1, 2));
  const int64_t depth = shape[2];
  Operand sum;
  for (int64_t tap = 0; tap < k[2]; ++tap) {
    const Operand read =
        l.slice(images, {0, tap * w.dilation[0], 0, 0, 0}, {1, w.stride[0], 1, 1, 1}, {s[0], depth, s[1], s[3], s[4]});
    const Operand of_tap = l.slice(weight, {0, 0, tap, 0, 0}, Extents(5, 1), {k[0], k[1], 1, k[3], k[4]});
    AttributeTexts own = given;
    std::vector<ValueId> ids{l.as(read, {s[0] * depth, s[1], s[3], s[4]}), l.as(of_tap, {k[0], k[1], k[3], k[4]})};
    if (tap == 0 && bias) {
      own.emplace_back("epilogue", "bias");
      ids.push_back(l.as(*bias, {k[0]}));
    }
    const Operand part = l.add("conv2d", own, ids);
    sum = tap ? l.pointwise("add", {sum, part}) : part;
  }
  return with_depth_outside(l, l.reshape(sum, {s[0], depth, k[0], shape[3], shape[4]}));
}

// Zeros between the inputs, and a convolution with the kernel backwards.
Operand transposed_convolution_of_volumes(Lowering& l, const Operand& x, const Operand& weight,
                                          const std::optional<Operand>& bias, const Window& w,
                                          const std::vector<TransposedAxis>& axes, int64_t groups) {
  Operand apart = x;
  Extents before(5, 0), after(5, 0);
  for (size_t d = 0; d < 3; ++d) {
    apart = spread(l, apart, 2 + d, w.stride[d]);
    const int64_t reach = (w.kernel[d] - 1) * w.dilation[d];
    before[2 + d] = reach - axes[d].before;
    after[2 + d] = axes[d].out + reach - apart.type.shape[2 + d] - before[2 + d];
  }
  const Extents& s = weight.type.shape;
  const Extents kernel(s.begin() + 2, s.end());
  const auto with_kernel = [&](Extents first) {
    first.insert(first.end(), kernel.begin(), kernel.end());
    return first;
  };
  const Operand exchanged =
      l.reshape(l.transpose(l.reshape(weight, with_kernel({groups, s[0] / groups, s[1]})), {0, 2, 1, 3, 4, 5}),
                with_kernel({groups * s[1], s[0] / groups}));
  const Operand backwards =
      l.slice(exchanged, {0, 0, kernel[0] - 1, kernel[1] - 1, kernel[2] - 1}, {1, 1, -1, -1, -1}, exchanged.type.shape);
  const Window plain{kernel, Extents(3, 1), w.dilation, Extents(3, 0), Extents(3, 0)};
  const Extents shape{x.type.shape[0], groups * s[1], axes[0].out, axes[1].out, axes[2].out};
  return convolution_of_volumes(l, with_borders(l, apart, before, after), backwards, bias, plain, shape);
}

}  // namespace hone::frontend
