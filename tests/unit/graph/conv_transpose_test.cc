// Transposed convolutions against ONNX's definition: each input element adds its kernel to the output.
#include <gmock/gmock.h>

#include <random>

#include "tests/unit/graph/onnx_models.h"

namespace hone {
namespace {

using testing::HasSubstr;

struct Case {
  int64_t n = 1, ci = 2, each = 2, groups = 1;  ///< `each`: output channels of a group
  std::vector<int64_t> image, kernel, stride, dilation, pads, more;
  bool has_bias = true;
};

TestModel onnx_of(const Case& t, const std::vector<float>& weight, const std::vector<float>& bias) {
  TestModel m;
  m.input("x", [&] {
    std::vector<TestDim> dims{t.n, t.ci};
    dims.insert(dims.end(), t.image.begin(), t.image.end());
    return dims;
  }());
  std::vector<int64_t> shape{t.ci, t.each};
  shape.insert(shape.end(), t.kernel.begin(), t.kernel.end());
  m.floats("w", shape, weight);
  std::vector<std::string> inputs{"x", "w"};
  if (t.has_bias) m.floats("b", {t.each * t.groups}, bias), inputs.emplace_back("b");
  m.node("ConvTranspose", inputs, {"y"});
  m.ints("strides", t.stride).ints("dilations", t.dilation).ints("pads", t.pads).ints("output_padding", t.more);
  m.number("group", t.groups);
  return m.output("y");
}

std::vector<double> computed(const Case& t, const std::vector<float>& x, const std::vector<float>& w,
                             const std::vector<float>& bias, std::vector<int64_t>* shape) {
  const int64_t h = t.image[0], wd = t.image[1], kh = t.kernel[0], kw = t.kernel[1], of = t.ci / t.groups;
  std::vector<int64_t> out;
  for (size_t d = 0; d < 2; ++d)
    out.push_back(t.stride[d] * (t.image[d] - 1) + t.more[d] + (t.kernel[d] - 1) * t.dilation[d] + 1 - t.pads[d] -
                  t.pads[2 + d]);
  const int64_t co = t.each * t.groups;
  *shape = {t.n, co, out[0], out[1]};
  std::vector<double> y(static_cast<size_t>(t.n * co * out[0] * out[1]));
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = t.has_bias ? bias[i / static_cast<size_t>(out[0] * out[1]) % static_cast<size_t>(co)] : 0;
  for (int64_t n = 0; n < t.n; ++n)
    for (int64_t c = 0; c < t.ci; ++c)
      for (int64_t e = 0; e < t.each; ++e)
        for (int64_t i = 0; i < h * wd; ++i)
          for (int64_t k = 0; k < kh * kw; ++k) {
            const int64_t oy = i / wd * t.stride[0] + k / kw * t.dilation[0] - t.pads[0],
                          ox = i % wd * t.stride[1] + k % kw * t.dilation[1] - t.pads[1];
            if (oy < 0 || oy >= out[0] || ox < 0 || ox >= out[1]) continue;
            const int64_t o = c / of * t.each + e;
            y[static_cast<size_t>(((n * co + o) * out[0] + oy) * out[1] + ox)] +=
                static_cast<double>(x[static_cast<size_t>((n * t.ci + c) * h * wd + i)]) *
                w[static_cast<size_t>((c * t.each + e) * kh * kw + k)];
          }
  return y;
}

TEST(ConvTranspose, AddsUpTheKernelsOfTheInputs) {
  const ModelFolder f;
  std::mt19937 random(7);
  const auto one_of = [&](std::initializer_list<int64_t> from) { return *(from.begin() + random() % from.size()); };
  int tried = 0;
  for (int i = 0; i < 300; ++i) {
    Case t;
    t.n = one_of({1, 2});
    t.groups = one_of({1, 1, 2, 3});
    t.ci = t.groups * one_of({1, 2, 3});
    t.each = one_of({1, 2});
    t.has_bias = random() % 2 == 0;
    for (int d = 0; d < 2; ++d) {
      t.image.push_back(one_of({1, 2, 3, 5}));
      t.kernel.push_back(one_of({1, 2, 3, 4, 5}));
      t.stride.push_back(one_of({1, 2, 3}));
      t.dilation.push_back(one_of({1, 1, 2}));
      t.more.push_back(random() % 3 == 0 ? t.stride.back() - 1 : 0);
    }
    for (int p = 0; p < 4; ++p) t.pads.push_back(one_of({0, 0, 1, 2}));
    const auto numbers = [&](int64_t count) {
      std::vector<float> v(static_cast<size_t>(count));
      for (float& e : v) e = static_cast<float>(static_cast<int>(random() % 17) - 8) / 4;
      return v;
    };
    const std::vector<float> x = numbers(t.n * t.ci * t.image[0] * t.image[1]),
                             w = numbers(t.ci * t.each * t.kernel[0] * t.kernel[1]), bias = numbers(t.each * t.groups);
    std::vector<int64_t> shape;
    bool is_possible = true;
    for (size_t d = 0; d < 2; ++d)
      is_possible &= t.stride[d] * (t.image[d] - 1) + t.more[d] + (t.kernel[d] - 1) * t.dilation[d] + 1 - t.pads[d] -
                         t.pads[2 + d] >=
                     1;
    const std::string refusal = f.refusal(onnx_of(t, w, bias));
    if (!is_possible) {
      EXPECT_NE(refusal, "accepted");
      continue;
    }
    if (refusal.find("leave nothing of the input") != std::string::npos) continue;
    ASSERT_EQ(refusal, "accepted");
    ++tried;
    const ImportedModel m = f.import(onnx_of(t, w, bias));
    const std::vector<double> wanted = computed(t, x, w, bias, &shape);
    ASSERT_EQ(m.graph.outputs[0].type.shape, shape);
    // Multiples of 1/16 of some hundred: exact.
    EXPECT_EQ(outputs_of(m, {TensorData({f32, m.graph.inputs[0].type.shape}, floats_of(x))}), wanted)
        << to_string(m.graph);
  }
  EXPECT_GT(tried, 200);
}

TEST(ConvTranspose, OfPlacesThatReadTheSameIsOneConvolution) {
  const ModelFolder f;
  Case t{.ci = 3,
         .each = 2,
         .image = {4, 5},
         .kernel = {2, 2},
         .stride = {2, 2},
         .dilation = {1, 1},
         .pads = {0, 0, 0, 0},
         .more = {0, 0}};
  const std::string text = to_string(f.import(onnx_of(t, std::vector<float>(24, 1), {1, 2})).graph);
  EXPECT_THAT(text, HasSubstr("conv2d(n=1,ci=3,h=4,w=5,co=8,kh=1,kw=1,"));
  EXPECT_THAT(text, testing::Not(HasSubstr("concat")));
}

TEST(ConvTranspose, WhatDoesNotFitIsSaid) {
  const ModelFolder f;
  Case t{.image = {4, 4}, .kernel = {2, 2}, .stride = {2, 2}, .dilation = {1, 1}, .pads = {4, 0, 4, 0}, .more = {0, 0}};
  EXPECT_THAT(f.refusal(onnx_of(t, std::vector<float>(16, 1), {1, 2})), HasSubstr("an output of 0 elements"));
  t.pads = {0, 0, 0, 0};
  t.more = {int64_t{1} << 40, 0};
  EXPECT_THAT(f.refusal(onnx_of(t, std::vector<float>(16, 1), {1, 2})),
              HasSubstr("an output_padding of 1099511627776"));
  t.more = {0, 0};
  t.groups = 3;
  EXPECT_THAT(f.refusal(onnx_of(t, std::vector<float>(16, 1), std::vector<float>(6, 1))), HasSubstr("group=3"));
}

// Each position of a period may be a convolution of its own: a file of a few bytes could ask for millions.
TEST(ConvTranspose, HasAMostOfPositions) {
  const ModelFolder f;
  Case t{
      .image = {2, 2}, .kernel = {2, 2}, .stride = {65, 64}, .dilation = {1, 1}, .pads = {0, 0, 0, 0}, .more = {0, 0}};
  EXPECT_THAT(f.refusal(onnx_of(t, std::vector<float>(16, 1), {1, 2})),
              HasSubstr("strides of 65 x 64 are not supported; their product is at most 4096"));
  t.stride = {1, 4097};
  EXPECT_THAT(f.refusal(onnx_of(t, std::vector<float>(16, 1), {1, 2})), HasSubstr("strides of 1 x 4097"));
}

}  // namespace
}  // namespace hone
