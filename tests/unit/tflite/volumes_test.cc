// Convolutions over three axes of space, against loops.
#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::HasSubstr;

constexpr int8_t kSamePadding = 0, kValidPadding = 1;

struct Axis {
  int64_t in, out, kernel, stride, dilation, before;
};

// As TensorFlow says: SAME has a window for each step, with what is missing around it, the odd element behind.
Axis axis_of_window(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int8_t padding) {
  const int64_t reach = (kernel - 1) * dilation + 1;
  if (padding == kValidPadding) return {in, (in - reach) / stride + 1, kernel, stride, dilation, 0};
  const int64_t out = (in + stride - 1) / stride;
  return {in, out, kernel, stride, dilation, std::max<int64_t>(0, (out - 1) * stride + reach - in) / 2};
}

struct Volumes {
  std::vector<int64_t> in, kernel, stride, dilation;
  int8_t padding;
  int64_t ci, co;
};

size_t flat(std::initializer_list<int64_t> at, std::initializer_list<int64_t> shape) {
  int64_t out = 0;
  for (auto a = at.begin(), s = shape.begin(); a != at.end(); ++a, ++s) out = out * *s + *a;
  return static_cast<size_t>(out);
}

// For each output and tap that meets an element: f(output, tap, input), each a position [d, h, w].
template <class F>
void for_each_product(const std::vector<Axis>& axes, const F& f) {
  std::vector<int64_t> o(3), k(3), i(3);
  for (o[0] = 0; o[0] < axes[0].out; ++o[0])
    for (o[1] = 0; o[1] < axes[1].out; ++o[1])
      for (o[2] = 0; o[2] < axes[2].out; ++o[2])
        for (k[0] = 0; k[0] < axes[0].kernel; ++k[0])
          for (k[1] = 0; k[1] < axes[1].kernel; ++k[1])
            for (k[2] = 0; k[2] < axes[2].kernel; ++k[2]) {
              bool is_inside = true;
              for (size_t d = 0; d < 3; ++d) {
                i[d] = o[d] * axes[d].stride + k[d] * axes[d].dilation - axes[d].before;
                is_inside = is_inside && i[d] >= 0 && i[d] < axes[d].in;
              }
              if (is_inside) f(o, k, i);
            }
}

std::vector<int32_t> narrow(const Extents& shape) { return {shape.begin(), shape.end()}; }

const std::vector<Volumes> kVolumes = {
    {{3, 4, 5}, {2, 3, 2}, {1, 1, 1}, {1, 1, 1}, kSamePadding, 2, 3},
    {{4, 5, 6}, {3, 2, 3}, {2, 1, 2}, {1, 1, 1}, kSamePadding, 1, 2},
    {{4, 4, 7}, {2, 2, 3}, {1, 2, 1}, {2, 1, 2}, kValidPadding, 3, 2},
};

TEST(TfliteVolumes, Convolutions) {
  for (const Volumes& v : kVolumes) {
    std::vector<Axis> axes;
    for (size_t d = 0; d < 3; ++d)
      axes.push_back(axis_of_window(v.in[d], v.kernel[d], v.stride[d], v.dilation[d], v.padding));
    const Extents x_shape{2, v.in[0], v.in[1], v.in[2], v.ci},
        w_shape{v.kernel[0], v.kernel[1], v.kernel[2], v.ci, v.co};
    const Floats x = some_numbers(element_count(x_shape), 1), w = some_numbers(element_count(w_shape), 2),
                 b = some_numbers(v.co, 3);
    const Extents y_shape{2, axes[0].out, axes[1].out, axes[2].out, v.co};
    std::vector<double> wanted(static_cast<size_t>(element_count(y_shape)));
    for (size_t e = 0; e < wanted.size(); ++e) wanted[e] = static_cast<double>(b[e % b.size()]);
    for (int64_t n = 0; n < 2; ++n)
      for_each_product(axes, [&](const auto& o, const auto& k, const auto& i) {
        for (int64_t ci = 0; ci < v.ci; ++ci)
          for (int64_t co = 0; co < v.co; ++co)
            wanted[flat({n, o[0], o[1], o[2], co}, {2, axes[0].out, axes[1].out, axes[2].out, v.co})] +=
                static_cast<double>(x[flat({n, i[0], i[1], i[2], ci}, {2, v.in[0], v.in[1], v.in[2], v.ci})]) *
                static_cast<double>(w[flat({k[0], k[1], k[2], ci, co}, {1, v.kernel[1], v.kernel[2], v.ci, v.co})]);
      });
    for (double& e : wanted) e = std::max(e, 0.0);
    TfliteModel m;
    m.input("x", narrow(x_shape)).floats("w", narrow(w_shape), w).floats("b", {static_cast<int32_t>(v.co)}, b);
    const auto number = [](int64_t n) { return static_cast<int32_t>(n); };
    m.op(132, {"x", "w", "b"}, {"y"},
         tables::CreateConv3DOptions(m.b, v.padding, number(v.stride[0]), number(v.stride[2]), number(v.stride[1]), 1,
                                     number(v.dilation[0]), number(v.dilation[2]), number(v.dilation[1])));
    m.output("y");
    const TensorData got = tensors_of(m, {tensor(x_shape, x)}).at(0);
    EXPECT_EQ(got.type().shape, y_shape);
    EXPECT_THAT(got.values(), Near(wanted));
  }
}

// Each element is written where a convolution over the output would read it.
TEST(TfliteVolumes, TransposedConvolutions) {
  for (const Volumes& v : kVolumes) {
    std::vector<Axis> axes;
    for (size_t d = 0; d < 3; ++d)
      axes.push_back(axis_of_window(v.in[d], v.kernel[d], v.stride[d], v.dilation[d], v.padding));
    const Extents x_shape{2, axes[0].out, axes[1].out, axes[2].out, v.ci},
        w_shape{v.kernel[0], v.kernel[1], v.kernel[2], v.co, v.ci}, y_shape{2, v.in[0], v.in[1], v.in[2], v.co};
    const Floats x = some_numbers(element_count(x_shape), 1), w = some_numbers(element_count(w_shape), 2);
    std::vector<double> wanted(static_cast<size_t>(element_count(y_shape)));
    for (int64_t n = 0; n < 2; ++n)
      for_each_product(axes, [&](const auto& o, const auto& k, const auto& i) {
        for (int64_t ci = 0; ci < v.ci; ++ci)
          for (int64_t co = 0; co < v.co; ++co)
            wanted[flat({n, i[0], i[1], i[2], co}, {2, v.in[0], v.in[1], v.in[2], v.co})] +=
                static_cast<double>(
                    x[flat({n, o[0], o[1], o[2], ci}, {2, axes[0].out, axes[1].out, axes[2].out, v.ci})]) *
                static_cast<double>(w[flat({k[0], k[1], k[2], co, ci}, {1, v.kernel[1], v.kernel[2], v.co, v.ci})]);
      });
    TfliteModel m;
    m.input("x", narrow(x_shape)).floats("w", narrow(w_shape), w).numbers("s", narrow(y_shape));
    const auto number = [](int64_t n) { return static_cast<int32_t>(n); };
    m.op(141, {"s", "w", "x"}, {"y"},
         tables::CreateConv3DOptions(m.b, v.padding, number(v.stride[0]), number(v.stride[2]), number(v.stride[1]), 0,
                                     number(v.dilation[0]), number(v.dilation[2]), number(v.dilation[1])));
    m.output("y");
    const TensorData got = tensors_of(m, {tensor(x_shape, x)}).at(0);
    EXPECT_EQ(got.type().shape, y_shape);
    EXPECT_THAT(got.values(), Near(wanted));
  }
}

TEST(TfliteVolumes, WrongShapesAreRefused) {
  TfliteModel m;
  m.input("x", {1, 2, 2, 2, 3}).floats("w", {1, 1, 1, 2, 1}, {1, 2});
  m.op(132, {"x", "w"}, {"y"}, tables::CreateConv3DOptions(m.b, 0, 1, 1, 1)).output("y");
  EXPECT_THAT(TfliteFolder().refusal(m), HasSubstr("weight f32[1, 1, 1, 2, 1] of f32[1, 2, 2, 2, 3]"));
}

}  // namespace
}  // namespace hone::tflite
