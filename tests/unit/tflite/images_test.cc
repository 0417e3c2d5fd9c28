// Convolutions, poolings and what resizes images, against loops over pixels.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

enum : int8_t { kSame, kValid };
enum : int8_t { kNone, kRelu, kReluMinusOneToOne, kRelu6, kTanh };

double function_of(int8_t activation, double v) {
  switch (activation) {
    case kRelu: return std::max(v, 0.0);
    case kReluMinusOneToOne: return std::clamp(v, -1.0, 1.0);
    case kRelu6: return std::clamp(v, 0.0, 6.0);
    case kTanh: return std::tanh(v);
    default: return v;
  }
}

// A window along an axis as TensorFlow has it.
struct Along {
  int in, kernel, stride, dilation;
  int8_t padding;
  int reach() const { return (kernel - 1) * dilation + 1; }
  int out() const { return padding == kSame ? (in + stride - 1) / stride : (in - reach()) / stride + 1; }
  int before() const { return padding == kSame ? std::max(0, (out() - 1) * stride + reach() - in) / 2 : 0; }
  // The element that tap `k` of output `o` reads; -1: none.
  int read(int o, int k) const {
    const int at = o * stride + k * dilation - before();
    return at >= 0 && at < in ? at : -1;
  }
};

struct Convolution {
  int n = 1, h = 5, w = 6, ci = 3, co = 4, kh = 3, kw = 3, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int8_t padding = kSame, activation = kNone;
  int of_group = 0;  // channels that an output reads; 0: all
  bool is_depthwise = false;
};

std::vector<double> convolved(const Convolution& c, const Floats& x, const Floats& w, const Floats& bias) {
  const Along rows{c.h, c.kh, c.stride_h, c.dilation_h, c.padding},
      columns{c.w, c.kw, c.stride_w, c.dilation_w, c.padding};
  const int of_group = c.is_depthwise ? 1 : c.of_group ? c.of_group : c.ci, groups = c.ci / of_group;
  std::vector<double> out;
  for (int n = 0; n < c.n; ++n)
    for (int y = 0; y < rows.out(); ++y)
      for (int z = 0; z < columns.out(); ++z)
        for (int o = 0; o < c.co; ++o) {
          double sum = static_cast<double>(bias[static_cast<size_t>(o)]);
          for (int ky = 0; ky < c.kh; ++ky)
            for (int kx = 0; kx < c.kw; ++kx)
              for (int i = 0; i < of_group; ++i) {
                const int iy = rows.read(y, ky), ix = columns.read(z, kx);
                if (iy < 0 || ix < 0) continue;
                const int channel = o / (c.co / groups) * of_group + i;
                const int at_w =
                    c.is_depthwise ? (ky * c.kw + kx) * c.co + o : ((o * c.kh + ky) * c.kw + kx) * of_group + i;
                sum += static_cast<double>(x[static_cast<size_t>(((n * c.h + iy) * c.w + ix) * c.ci + channel)]) *
                       static_cast<double>(w[static_cast<size_t>(at_w)]);
              }
          out.push_back(function_of(c.activation, sum));
        }
  return out;
}

void expect_right(const Convolution& c) {
  TfliteModel m;
  m.input("x", {c.n, c.h, c.w, c.ci});
  const int of_group = c.of_group ? c.of_group : c.ci;
  const std::vector<int32_t> shape =
      c.is_depthwise ? std::vector<int32_t>{1, c.kh, c.kw, c.co} : std::vector<int32_t>{c.co, c.kh, c.kw, of_group};
  const Floats x = some_numbers(c.n * c.h * c.w * c.ci, 1),
               w = some_numbers(int64_t{shape[0]} * shape[1] * shape[2] * shape[3], 2), bias = some_numbers(c.co, 3);
  m.floats("w", shape, w).floats("b", {c.co}, bias);
  if (c.is_depthwise)
    m.op(4, {"x", "w", "b"}, {"y"},
         tables::CreateDepthwiseConvOptions(m.b, c.padding, c.stride_w, c.stride_h, c.co / c.ci, c.activation,
                                            c.dilation_w, c.dilation_h));
  else
    m.op(3, {"x", "w", "b"}, {"y"},
         tables::CreateConvOptions(m.b, c.padding, c.stride_w, c.stride_h, c.activation, c.dilation_w, c.dilation_h));
  m.output("y");
  EXPECT_THAT(outputs_of(m, {tensor({c.n, c.h, c.w, c.ci}, x)}), Near(convolved(c, x, w, bias)));
}

TEST(TfliteConvolutions, AgreeWithLoops) {
  expect_right({});
  expect_right({.n = 2, .kh = 2, .kw = 4, .stride_h = 2, .activation = kRelu});
  expect_right({.h = 8, .w = 7, .stride_h = 2, .stride_w = 2, .padding = kSame, .activation = kRelu6});
  expect_right({.h = 8, .w = 9, .stride_h = 3, .stride_w = 2, .padding = kValid, .activation = kReluMinusOneToOne});
  expect_right({.h = 9, .w = 9, .dilation_h = 2, .dilation_w = 3, .padding = kSame, .activation = kTanh});
  expect_right({.h = 9, .w = 9, .dilation_h = 2, .padding = kValid});
  expect_right({.ci = 4, .co = 6, .of_group = 2});
  expect_right({.kh = 1, .kw = 1});
}

TEST(TfliteConvolutions, OfOneColumnOrRow) {
  expect_right({.h = 9, .w = 1, .kh = 3, .kw = 1, .stride_h = 2});
  expect_right({.h = 1, .w = 9, .kh = 1, .kw = 3, .stride_w = 2, .padding = kValid});
}

TEST(TfliteConvolutions, Depthwise) {
  expect_right({.ci = 3, .co = 3, .is_depthwise = true});
  expect_right({.ci = 2, .co = 6, .stride_h = 2, .stride_w = 2, .activation = kRelu, .is_depthwise = true});
  expect_right({.h = 9, .ci = 3, .co = 3, .dilation_h = 2, .padding = kValid, .is_depthwise = true});
  expect_right({.ci = 1, .co = 4, .is_depthwise = true});
}

TEST(TfliteConvolutions, WithoutBias) {
  TfliteModel m;
  m.input("x", {1, 2, 2, 1}).floats("w", {1, 2, 2, 1}, {1, 2, 3, 4});
  m.op(3, {"x", "w", ""}, {"y"}, tables::CreateConvOptions(m.b, kValid, 1, 1)).output("y");
  EXPECT_THAT(outputs_of(m, {tensor({1, 2, 2, 1}, {1, 10, 100, 1000})}), ElementsAre(4321));
}

TEST(TfliteConvolutions, AreRefusedWhereTheyDoNotFit) {
  const TfliteFolder f;
  const auto with = [&](const std::vector<int32_t>& weight, int stride, int8_t padding, int8_t activation) {
    TfliteModel m;
    int64_t count = 1;
    for (const int32_t e : weight) count *= e;
    m.input("x", {1, 4, 4, 3}).floats("w", weight, some_numbers(count, 1));
    m.op(3, {"x", "w"}, {"y"}, tables::CreateConvOptions(m.b, padding, stride, stride, activation)).output("y");
    return f.refusal(m);
  };
  EXPECT_EQ(with({2, 3, 3, 3}, 1, kSame, kNone), "accepted");
  EXPECT_THAT(with({2, 3, 3, 2}, 1, kSame, kNone), HasSubstr("weight f32[2, 3, 3, 2] of f32[1, 4, 4, 3]"));
  EXPECT_THAT(with({2, 3, 3, 3}, 0, kSame, kNone), HasSubstr("a kernel, stride or dilation of 0"));
  EXPECT_THAT(with({2, 3, 3, 3}, -1, kSame, kNone), HasSubstr("a kernel, stride or dilation of -1"));
  EXPECT_THAT(with({2, 3, 3, 3}, 1, 7, kNone), HasSubstr("a padding of kind 7"));
  EXPECT_THAT(with({2, 5, 5, 3}, 1, kValid, kNone), HasSubstr("a window of 5 elements along an axis of 4"));
  EXPECT_THAT(with({2, 3, 3, 3}, 1, kSame, 5), HasSubstr("the fused activation 5 is not supported"));
}

enum : int32_t { kAverage = 1, kL2 = 12, kMax = 17 };

void expect_pooled(int32_t number, int h, int w, int kernel, int stride, int8_t padding) {
  constexpr int kChannels = 2;
  const Along rows{h, kernel, stride, 1, padding}, columns{w, kernel, stride, 1, padding};
  const Floats x = some_numbers(h * w * kChannels, 4);
  std::vector<double> wanted;
  for (int y = 0; y < rows.out(); ++y)
    for (int z = 0; z < columns.out(); ++z)
      for (int c = 0; c < kChannels; ++c) {
        double most = -std::numeric_limits<double>::infinity(), sum = 0, squares = 0, count = 0;
        for (int ky = 0; ky < kernel; ++ky)
          for (int kx = 0; kx < kernel; ++kx) {
            const int iy = rows.read(y, ky), ix = columns.read(z, kx);
            if (iy < 0 || ix < 0) continue;
            const double v = static_cast<double>(x[static_cast<size_t>((iy * w + ix) * kChannels + c)]);
            most = std::max(most, v);
            sum += v;
            squares += v * v;
            ++count;
          }
        wanted.push_back(number == kMax ? most : number == kAverage ? sum / count : std::sqrt(squares / count));
      }
  TfliteModel m;
  m.input("x", {1, h, w, kChannels});
  m.op(number, {"x"}, {"y"}, tables::CreatePoolOptions(m.b, padding, stride, stride, kernel, kernel)).output("y");
  EXPECT_THAT(outputs_of(m, {tensor({1, h, w, kChannels}, x)}), Near(wanted)) << number;
}

TEST(TflitePoolings, AgreeWithLoops) {
  for (const int32_t number : {kAverage, kL2, kMax}) {
    expect_pooled(number, 6, 6, 2, 2, kSame);
    expect_pooled(number, 7, 5, 3, 2, kSame);
    expect_pooled(number, 7, 5, 3, 1, kValid);
  }
}

// Each input writes into its window.
std::vector<double> transposed(int h, int w, int ci, int co, int kernel, int stride, int out_h, int out_w, int before_h,
                               int before_w, const Floats& x, const Floats& weight, const Floats& bias) {
  std::vector<double> out(static_cast<size_t>(out_h * out_w * co));
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(bias[i % static_cast<size_t>(co)]);
  for (int y = 0; y < h; ++y)
    for (int z = 0; z < w; ++z)
      for (int ky = 0; ky < kernel; ++ky)
        for (int kx = 0; kx < kernel; ++kx) {
          const int oy = y * stride + ky - before_h, ox = z * stride + kx - before_w;
          if (oy < 0 || oy >= out_h || ox < 0 || ox >= out_w) continue;
          for (int o = 0; o < co; ++o)
            for (int i = 0; i < ci; ++i)
              out[static_cast<size_t>((oy * out_w + ox) * co + o)] +=
                  static_cast<double>(x[static_cast<size_t>((y * w + z) * ci + i)]) *
                  static_cast<double>(weight[static_cast<size_t>(((o * kernel + ky) * kernel + kx) * ci + i)]);
        }
  return out;
}

TEST(TfliteTransposedConvolutions, AgreeWithLoops) {
  constexpr int kH = 3, kW = 4, kCi = 2, kCo = 3;
  for (const int kernel : {1, 2, 3, 4})
    for (const int stride : {1, 2, 3})
      for (const int8_t padding : {kSame, kValid}) {
        const int out_h = padding == kSame ? kH * stride : kH * stride + std::max(0, kernel - stride),
                  out_w = padding == kSame ? kW * stride : kW * stride + std::max(0, kernel - stride);
        const Floats x = some_numbers(kH * kW * kCi, 1), w = some_numbers(kCo * kernel * kernel * kCi, 2),
                     bias = some_numbers(kCo, 3);
        const std::vector<double> wanted = transposed(kH, kW, kCi, kCo, kernel, stride, out_h, out_w,
                                                      Along{out_h, kernel, stride, 1, padding}.before(),
                                                      Along{out_w, kernel, stride, 1, padding}.before(), x, w, bias);
        TfliteModel own;
        own.numbers("shape", {1, out_h, out_w, kCo}).input("x", {1, kH, kW, kCi});
        own.floats("w", {kCo, kernel, kernel, kCi}, w).floats("b", {kCo}, bias);
        own.op(67, {"shape", "w", "x", "b"}, {"y"}, tables::CreateTransposeConvOptions(own.b, padding, stride, stride));
        own.output("y");
        EXPECT_THAT(outputs_of(own, {tensor({1, kH, kW, kCi}, x)}), Near(wanted)) << kernel << " " << stride;
        // MediaPipe's, which works out the output's extents.
        TfliteModel custom;
        custom.input("x", {1, kH, kW, kCi}).floats("w", {kCo, kernel, kernel, kCi}, w).floats("b", {kCo}, bias);
        std::vector<uint8_t> options(12, 0);
        options[0] = padding == kSame ? 1 : 2;
        options[4] = options[8] = static_cast<uint8_t>(stride);
        custom.custom("Convolution2DTransposeBias", {"x", "w", "b"}, {"y"}, options).output("y");
        EXPECT_THAT(outputs_of(custom, {tensor({1, kH, kW, kCi}, x)}), Near(wanted)) << kernel << " " << stride;
      }
}

TEST(TfliteTransposedConvolutions, AreRefusedWhereTheyDoNotFit) {
  const TfliteFolder f;
  const auto with = [&](const std::vector<uint8_t>& options) {
    TfliteModel m;
    m.input("x", {1, 2, 2, 1}).floats("w", {1, 2, 2, 1}, {1, 2, 3, 4}).floats("b", {1}, {1});
    m.custom("Convolution2DTransposeBias", {"x", "w", "b"}, {"y"}, options).output("y");
    return f.refusal(m);
  };
  EXPECT_EQ(with({1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0}), "accepted");
  EXPECT_THAT(with({1, 0, 0}), HasSubstr("its options have 3 bytes; there must be 12"));
  EXPECT_THAT(with({9, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0}), HasSubstr("a padding of kind 9"));
  EXPECT_THAT(with({1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0}), HasSubstr("a stride of 0"));
  EXPECT_THAT(with({1, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0}),
              HasSubstr("strides of 2 and 65536; a product of 4096 is the most"));
}

std::vector<double> resized(bool is_bilinear, int to, bool aligns, bool halves) {
  TfliteModel m;
  m.input("x", {1, 1, 4, 1}).numbers("size", {1, to});
  if (is_bilinear)
    m.op(23, {"x", "size"}, {"y"}, tables::CreateResizeBilinearOptions(m.b, aligns, halves));
  else
    m.op(97, {"x", "size"}, {"y"}, tables::CreateResizeNearestOptions(m.b, aligns, halves));
  m.output("y");
  return outputs_of(m, {tensor({1, 1, 4, 1}, {0, 10, 20, 30})});
}

TEST(TfliteResize, Bilinear) {
  EXPECT_THAT(resized(true, 8, false, false), Near(std::vector<double>{0, 5, 10, 15, 20, 25, 30, 30}));
  EXPECT_THAT(resized(true, 7, true, false), Near(std::vector<double>{0, 5, 10, 15, 20, 25, 30}));
  EXPECT_THAT(resized(true, 8, false, true), Near(std::vector<double>{0, 2.5, 7.5, 12.5, 17.5, 22.5, 27.5, 30}));
  EXPECT_THAT(resized(true, 2, false, false), Near(std::vector<double>{0, 20}));
  EXPECT_THAT(resized(true, 2, false, true), Near(std::vector<double>{5, 25}));
}

TEST(TfliteResize, Nearest) {
  EXPECT_THAT(resized(false, 8, false, false), ElementsAre(0, 0, 10, 10, 20, 20, 30, 30));
  // Places 0, 0.5, 1, …: halves go up.
  EXPECT_THAT(resized(false, 7, true, false), ElementsAre(0, 10, 10, 20, 20, 30, 30));
  EXPECT_THAT(resized(false, 3, false, false), ElementsAre(0, 10, 20));
  EXPECT_THAT(resized(false, 3, false, true), ElementsAre(0, 20, 30));
}

TEST(TfliteResize, OfBothModesIsRefused) {
  const TfliteFolder f;
  TfliteModel m;
  m.input("x", {1, 2, 2, 1}).numbers("size", {4, 4});
  m.op(23, {"x", "size"}, {"y"}, tables::CreateResizeBilinearOptions(m.b, true, true)).output("y");
  EXPECT_THAT(f.refusal(m), HasSubstr("align_corners and half_pixel_centers exclude each other"));
}

TEST(TflitePixels, BecomeChannelsAndBack) {
  TfliteModel there;
  there.input("x", {1, 2, 4, 1}).op(26, {"x"}, {"y"}, tables::CreateSpaceToDepthOptions(there.b, 2)).output("y");
  const Floats image{1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_THAT(outputs_of(there, {tensor({1, 2, 4, 1}, image)}), ElementsAre(1, 2, 5, 6, 3, 4, 7, 8));
  TfliteModel back;
  back.input("x", {1, 1, 2, 4}).op(5, {"x"}, {"y"}, tables::CreateDepthToSpaceOptions(back.b, 2)).output("y");
  EXPECT_THAT(outputs_of(back, {tensor({1, 1, 2, 4}, {1, 2, 5, 6, 3, 4, 7, 8})}), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  // Several channels stay together.
  TfliteModel two;
  two.input("x", {1, 1, 1, 8}).op(5, {"x"}, {"y"}, tables::CreateDepthToSpaceOptions(two.b, 2)).output("y");
  EXPECT_THAT(outputs_of(two, {tensor({1, 1, 1, 8}, {1, 2, 3, 4, 5, 6, 7, 8})}), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(TflitePixels, BecomeImagesAndBack) {
  const auto moved = [](int32_t number, const std::vector<int32_t>& shape, const std::vector<int32_t>& borders,
                        const Floats& x) {
    TfliteModel m;
    m.input("x", shape).numbers("block", {2, 2}).data("b", {2, 2}, kTfInt, bytes_of_numbers(borders));
    m.op(number, {"x", "block", "b"}, {"y"}).output("y");
    return outputs_of(m, {tensor({shape.begin(), shape.end()}, x)});
  };
  constexpr int32_t kToImages = 38, kBack = 37;
  EXPECT_THAT(moved(kToImages, {1, 2, 2, 1}, {0, 0, 0, 0}, {1, 2, 3, 4}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(moved(kToImages, {1, 1, 3, 1}, {1, 0, 0, 1}, {1, 2, 3}), ElementsAre(0, 0, 0, 0, 1, 3, 2, 0));
  EXPECT_THAT(moved(kBack, {4, 1, 2, 1}, {1, 0, 0, 1}, {0, 0, 0, 0, 1, 3, 2, 0}), ElementsAre(1, 2, 3));
  // Between convolutions, where images are planes.
  TfliteModel m;
  m.input("x", {1, 4, 4, 2}).floats("w", {2, 1, 1, 2}, {1, 0, 0, 1}).numbers("block", {2, 2});
  m.data("b", {2, 2}, kTfInt, bytes_of_numbers<int32_t>({0, 0, 0, 0}));
  m.op(3, {"x", "w"}, {"c"}, tables::CreateConvOptions(m.b, kSame, 1, 1)).op(kToImages, {"c", "block", "b"}, {"s"});
  m.op(3, {"s", "w"}, {"d"}, tables::CreateConvOptions(m.b, kSame, 1, 1)).op(kBack, {"d", "block", "b"}, {"y"});
  m.output("y");
  const Floats x = some_numbers(32, 1);
  EXPECT_THAT(outputs_of(m, {tensor({1, 4, 4, 2}, x)}), Near(std::vector<double>(x.begin(), x.end())));
}

TEST(TfliteImages, AreNotTransposedBetweenConvolutions) {
  TfliteModel m;
  m.input("x", {1, 6, 6, 3}).floats("w", {4, 3, 3, 3}, some_numbers(108, 1)).floats("b", {4}, some_numbers(4, 2));
  m.floats("v", {4, 1, 1, 4}, some_numbers(16, 3)).floats("s", {1, 1, 4}, some_numbers(4, 4));
  m.numbers("axes", {1, 2});
  m.data("pads", {4, 2}, kTfInt, bytes_of_numbers<int32_t>({0, 0, 1, 1, 1, 1, 0, 0}));
  m.op(3, {"x", "w", "b"}, {"a"}, tables::CreateConvOptions(m.b, kSame, 1, 1, kRelu));
  m.op(3, {"a", "v", "b"}, {"c"}, tables::CreateConvOptions(m.b, kSame, 1, 1));
  m.op(0, {"a", "c"}, {"d"}, tables::CreateAddOptions(m.b, kRelu6));
  m.op(54, {"d", "s"}, {"e"});
  m.op(34, {"e", "pads"}, {"f"});
  m.op(2, {"f", "f"}, {"g"}, tables::CreateConcatenationOptions(m.b, 3));
  m.op(40, {"g", "axes"}, {"h"}, tables::CreateReducerOptions(m.b, true));
  m.op(18, {"g", "h"}, {"i"}, tables::CreateMulOptions(m.b));
  m.floats("u", {1, 1, 1, 8}, some_numbers(8, 5));
  m.op(3, {"i", "u"}, {"y"}, tables::CreateConvOptions(m.b, kSame, 1, 1)).output("y");
  const Graph g = remove_dead(TfliteFolder().import(m).graph);
  const auto transposes = std::count_if(g.nodes.begin(), g.nodes.end(),
                                        [](const Node& n) { return n.workload.operator_name() == "transpose"; });
  // The caller's image.
  EXPECT_EQ(transposes, 1);
}

}  // namespace
}  // namespace hone::tflite
