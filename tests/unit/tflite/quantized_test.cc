// Whole numbers with scales, floats of 16 bits, sparse weights: against TensorFlow Lite's arithmetic on whole numbers,
// from which a result may differ by a step where it rounds otherwise.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/narrow_floats.h"
#include "compiler/graph/passes/passes.h"
#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int8_t> bytes(int64_t count, int seed) {
  std::vector<int8_t> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<int8_t>((static_cast<int>(i) * 73 + seed * 29) % 255 - 127);
  return out;
}
TensorData signed_tensor(const Extents& shape, const std::vector<int8_t>& v) {
  return {{i8, shape}, std::string(reinterpret_cast<const char*>(v.data()), v.size())};
}
double saturated(double v) { return std::clamp(std::round(v), -128.0, 127.0); }

void expect_within_a_step(const std::vector<double>& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], wanted[i], 1) << i;
    EXPECT_EQ(got[i], std::round(got[i]));
  }
}

constexpr float kScaleX = 0.05f, kScaleY = 0.11f;
constexpr int kZeroX = 3, kZeroY = -7;

// int8, a scale for each output channel, a bias in steps of the product.
TEST(TfliteBytes, ConvolutionsWithAScaleAChannel) {
  constexpr int kH = 5, kW = 5, kCi = 3, kCo = 4;
  for (const bool is_depthwise : {false, true}) {
    const int co = is_depthwise ? kCi : kCo;
    const std::vector<int32_t> shape =
        is_depthwise ? std::vector<int32_t>{1, 3, 3, co} : std::vector<int32_t>{co, 3, 3, kCi};
    std::vector<float> scales = {0.01f, 0.02f, 0.03f, 0.015f};
    scales.resize(static_cast<size_t>(co));
    const auto x = bytes(kH * kW * kCi, 1), w = bytes(int64_t{shape[0]} * 9 * shape[3], 2);
    std::vector<int32_t> bias{100, -200, 300, 5};
    bias.resize(static_cast<size_t>(co));
    TfliteScales of_weights{scales, std::vector<int64_t>(scales.size(), 0), is_depthwise ? 3 : 0}, of_bias = of_weights;
    for (float& s : of_bias.scale) s *= kScaleX;
    of_bias.axis = 0;
    TfliteModel m;
    m.input("x", {1, kH, kW, kCi}, kTfSigned, {{kScaleX}, {kZeroX}});
    m.data("w", shape, kTfSigned, bytes_of_numbers(w), of_weights);
    m.data("b", {co}, kTfInt, bytes_of_numbers(bias), of_bias);
    m.tensor("y", {1, kH, kW, co}, kTfSigned, {{kScaleY}, {kZeroY}});
    if (is_depthwise)
      m.op(4, {"x", "w", "b"}, {"y"}, tables::CreateDepthwiseConvOptions(m.b, 0, 1, 1, 1, 1));
    else
      m.op(3, {"x", "w", "b"}, {"y"}, tables::CreateConvOptions(m.b, 0, 1, 1, 1));
    m.output("y");
    std::vector<double> wanted;
    for (int y = 0; y < kH; ++y)
      for (int z = 0; z < kW; ++z)
        for (int o = 0; o < co; ++o) {
          int64_t sum = bias[static_cast<size_t>(o)];
          for (int ky = 0; ky < 3; ++ky)
            for (int kx = 0; kx < 3; ++kx)
              for (int i = is_depthwise ? o : 0; i < (is_depthwise ? o + 1 : kCi); ++i) {
                const int iy = y + ky - 1, ix = z + kx - 1;
                if (iy < 0 || iy >= kH || ix < 0 || ix >= kW) continue;
                const int at = is_depthwise ? (ky * 3 + kx) * co + o : ((o * 3 + ky) * 3 + kx) * kCi + i;
                sum += (x[static_cast<size_t>((iy * kW + ix) * kCi + i)] - kZeroX) * w[static_cast<size_t>(at)];
              }
          const double real = static_cast<double>(sum) * static_cast<double>(kScaleX * scales[static_cast<size_t>(o)]);
          wanted.push_back(saturated(std::max(real, 0.0) / static_cast<double>(kScaleY) + kZeroY));
        }
    const ImportedModel model = TfliteFolder().import(m);
    expect_within_a_step(interpret(model.graph, {signed_tensor({1, kH, kW, kCi}, x)}, &evaluate)[0].values(), wanted);
    // The passes make a product of bytes of it.
    const Graph g = run_passes(graph_passes(test_context()), model.graph);
    const auto of_bytes = std::count_if(g.nodes.begin(), g.nodes.end(), [](const Node& n) {
      const std::string text = to_string(n.workload);
      return text.find("conv2d") != std::string::npos && text.find("s8") != std::string::npos;
    });
    EXPECT_EQ(of_bytes, 1) << to_string(g);
  }
}

// As converters write residual blocks: all that is between input and output is bytes, and stays so.
TEST(TfliteBytes, ChainsStayBytes) {
  constexpr int kSize = 8, kChannels = 8;
  TfliteModel m;
  const std::vector<int32_t> image{1, kSize, kSize, kChannels};
  const auto scales = [](float v) {
    return TfliteScales{std::vector<float>(kChannels, v), std::vector<int64_t>(kChannels, 0), 0};
  };
  TfliteScales deep = scales(0.02f);
  deep.axis = 3;
  m.input("x", image, kTfSigned, {{0.05f}, {-128}});
  m.data("w", {kChannels, 1, 1, kChannels}, kTfSigned, bytes_of_numbers(bytes(kChannels * kChannels, 1)),
         scales(0.01f));
  m.data("d", {1, 3, 3, kChannels}, kTfSigned, bytes_of_numbers(bytes(9 * kChannels, 2)), deep);
  m.data("b", {kChannels}, kTfInt, std::string(4 * kChannels, '\1'), scales(0.0005f));
  m.data("e", {kChannels}, kTfInt, std::string(4 * kChannels, '\0'), scales(0.0014f));
  for (const char* name : {"a", "c", "s", "y"}) m.tensor(name, image, kTfSigned, {{0.07f}, {-128}});
  m.op(3, {"x", "w", "b"}, {"a"}, tables::CreateConvOptions(m.b, 0, 1, 1, 3));
  m.op(4, {"a", "d", "e"}, {"c"}, tables::CreateDepthwiseConvOptions(m.b, 0, 1, 1, 1, 3));
  m.op(0, {"a", "c"}, {"s"}, tables::CreateAddOptions(m.b));
  m.op(3, {"s", "w", "e"}, {"y"}, tables::CreateConvOptions(m.b, 0, 1, 1)).output("y");
  const Graph imported = TfliteFolder().import(m).graph, g = run_passes(graph_passes(test_context()), imported);
  int of_bytes = 0, transposes = 0;
  for (const Node& n : g.nodes) {
    const std::string text = to_string(n.workload);
    of_bytes += text.find("conv2d") != std::string::npos && text.find("dtype=u8:s8:s32") != std::string::npos;
    transposes += text.starts_with("transpose");
    EXPECT_EQ(text.find("dtype=f32,"), std::string::npos) << text;
  }
  EXPECT_EQ(of_bytes, 3) << to_string(g);
  EXPECT_EQ(transposes, 2) << "the caller's images; " << to_string(g);
  const TensorData x = signed_tensor({1, kSize, kSize, kChannels}, bytes(kSize * kSize * kChannels, 4));
  expect_within_a_step(interpret(g, {x}, &evaluate)[0].values(), interpret(imported, {x}, &evaluate)[0].values());
}

TEST(TfliteBytes, FullyConnected) {
  const auto x = bytes(2 * 6, 1), w = bytes(3 * 6, 2);
  TfliteModel m;
  m.input("x", {2, 6}, kTfSigned, {{kScaleX}, {kZeroX}});
  m.data("w", {3, 6}, kTfSigned, bytes_of_numbers(w), {{0.02f}, {0}});
  m.data("b", {3}, kTfInt, bytes_of_numbers<int32_t>({1000, 0, -1000}), {{kScaleX * 0.02f}, {0}});
  m.tensor("y", {2, 3}, kTfSigned, {{kScaleY}, {kZeroY}}).op(9, {"x", "w", "b"}, {"y"}).output("y");
  std::vector<double> wanted;
  for (int r = 0; r < 2; ++r)
    for (int o = 0; o < 3; ++o) {
      int64_t sum = 1000 * (1 - o);
      for (int i = 0; i < 6; ++i)
        sum += (x[static_cast<size_t>(r * 6 + i)] - kZeroX) * w[static_cast<size_t>(o * 6 + i)];
      wanted.push_back(saturated(static_cast<double>(sum) * static_cast<double>(kScaleX * 0.02f / kScaleY) + kZeroY));
    }
  expect_within_a_step(outputs_of(m, {signed_tensor({2, 6}, x)}), wanted);
}

// Weights of bytes and floats: TensorFlow Lite rounds the floats to bytes, Hone does not.
TEST(TfliteBytes, WeightsAloneMayBeBytes) {
  TfliteModel m;
  m.input("x", {1, 2}).data("w", {2, 2}, kTfSigned, bytes_of_numbers<int8_t>({1, 2, 3, 4}), {{0.5f, 2}, {0, 0}, 0});
  m.op(9, {"x", "w"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(m, {tensor({1, 2}, {1, 10})}), ElementsAre(10.5, 86));
}

TEST(TfliteBytes, UnsignedOnesWithZeroPoints) {
  TfliteModel m;
  m.input("x", {1, 2}, kTfByte, {{0.5f}, {128}});
  m.data("w", {1, 2}, kTfByte, bytes_of_numbers<uint8_t>({130, 126}), {{1}, {127}});
  m.tensor("y", {1, 1}, kTfByte, {{0.25f}, {100}}).op(9, {"x", "w"}, {"y"}).output("y");
  // (2 * 0.5) * 3 + (-4 * 0.5) * -1 = 5
  EXPECT_THAT(outputs_of(m, {TensorData({u8, {1, 2}}, bytes_of_numbers<uint8_t>({130, 124}))}), ElementsAre(120));
}

// Inputs of 16 bits, weights of 8, a bias of 64.
TEST(TfliteBytes, SixteenBits) {
  TfliteModel m;
  m.input("x", {1, 2}, kTfShort, {{0.001f}, {0}});
  m.data("w", {2, 2}, kTfSigned, bytes_of_numbers<int8_t>({10, -20, 127, 3}), {{0.01f, 0.02f}, {0, 0}, 0});
  m.data("b", {2}, kTfLong, bytes_of_numbers<int64_t>({100000, -7}), {{0.00001f, 0.00002f}, {0, 0}, 0});
  m.tensor("y", {1, 2}, kTfShort, {{0.002f}, {0}}).op(9, {"x", "w", "b"}, {"y"}).output("y");
  const std::vector<int16_t> x{12345, -32768};
  std::vector<double> wanted;
  for (const int64_t sum : {100000 + 10 * 12345 + 20 * 32768, -7 + 127 * 12345 - 3 * 32768})
    wanted.push_back(
        std::clamp(std::round(double(sum) * (wanted.empty() ? 0.00001 : 0.00002) / 0.002), -32768.0, 32767.0));
  expect_within_a_step(outputs_of(m, {TensorData({i16, {1, 2}}, bytes_of_numbers(x))}), wanted);
}

TEST(TfliteBytes, Pointwise) {
  for (const int32_t number : {0, 18}) {
    const auto a = bytes(16, 1), b = bytes(16, 2);
    TfliteModel m;
    m.input("a", {16}, kTfSigned, {{0.1f}, {5}}).input("b", {16}, kTfSigned, {{0.03f}, {-2}});
    m.tensor("y", {16}, kTfSigned, {{0.2f}, {1}}).op(number, {"a", "b"}, {"y"}).output("y");
    std::vector<double> wanted;
    for (size_t i = 0; i < a.size(); ++i) {
      const double x = 0.1 * (a[i] - 5), y = 0.03 * (b[i] + 2);
      wanted.push_back(saturated((number == 0 ? x + y : x * y) / 0.2 + 1));
    }
    expect_within_a_step(outputs_of(m, {signed_tensor({16}, a), signed_tensor({16}, b)}), wanted);
  }
}

TEST(TfliteBytes, AveragesAndExtremesOfWindows) {
  for (const int32_t number : {1, 17}) {
    const auto x = bytes(16, 3);
    TfliteModel m;
    m.input("x", {1, 4, 4, 1}, kTfSigned, {{kScaleX}, {kZeroX}});
    m.tensor("y", {1, 2, 2, 1}, kTfSigned, {{kScaleX}, {kZeroX}});
    m.op(number, {"x"}, {"y"}, tables::CreatePoolOptions(m.b, 1, 2, 2, 2, 2)).output("y");
    std::vector<double> wanted;
    for (size_t y = 0; y < 2; ++y)
      for (size_t z = 0; z < 2; ++z) {
        const std::array<double, 4> of = {double(x[8 * y + 2 * z]), double(x[8 * y + 2 * z + 1]),
                                          double(x[8 * y + 4 + 2 * z]), double(x[8 * y + 5 + 2 * z])};
        wanted.push_back(number == 1 ? std::round((of[0] + of[1] + of[2] + of[3]) / 4)
                                     : *std::max_element(of.begin(), of.end()));
      }
    expect_within_a_step(outputs_of(m, {signed_tensor({1, 4, 4, 1}, x)}), wanted);
  }
}

TEST(TfliteBytes, AreMovedAsTheyAre) {
  TfliteModel m;
  m.input("x", {2, 3}, kTfSigned, {{kScaleX}, {kZeroX}}).tensor("y", {3, 2}, kTfSigned, {{kScaleX}, {kZeroX}});
  m.numbers("s", {3, 2}).op(22, {"x", "s"}, {"y"}).output("y");
  const Graph g = TfliteFolder().import(m).graph;
  EXPECT_EQ(to_string(g).find("elementwise"), std::string::npos) << to_string(g);
  EXPECT_THAT(interpret(g, {signed_tensor({2, 3}, {1, 2, 3, 4, 5, 6})}, &evaluate)[0].values(),
              ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(TfliteBytes, AreMovedBetweenScales) {
  TfliteModel m;
  m.input("a", {2}, kTfSigned, {{0.5f}, {0}}).input("b", {2}, kTfSigned, {{0.25f}, {0}});
  m.tensor("y", {4}, kTfSigned, {{0.5f}, {0}});
  m.op(2, {"a", "b"}, {"y"}, tables::CreateConcatenationOptions(m.b, 0)).output("y");
  EXPECT_THAT(outputs_of(m, {signed_tensor({2}, {3, -3}), signed_tensor({2}, {8, -8})}), ElementsAre(3, -3, 4, -4));
}

TEST(TfliteBytes, BordersAreZeroPoints) {
  TfliteModel m;
  m.input("x", {1}, kTfSigned, {{0.5f}, {9}}).tensor("y", {3}, kTfSigned, {{0.5f}, {9}});
  m.data("p", {1, 2}, kTfInt, bytes_of_numbers<int32_t>({1, 1})).op(34, {"x", "p"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(m, {signed_tensor({1}, {20})}), ElementsAre(9, 20, 9));
}

TEST(TfliteBytes, ComeAndGo) {
  TfliteModel m;
  m.input("x", {4}).tensor("q", {4}, kTfSigned, {{0.5f}, {1}}).tensor("r", {4}, kTfByte, {{0.25f}, {128}});
  m.op(114, {"x"}, {"q"}).op(114, {"q"}, {"r"}).op(6, {"r"}, {"y"}).output("q").output("r").output("y");
  const std::vector<TensorData> out = tensors_of(m, {tensor({4}, {-1, 0, 0.6f, 1000})});
  EXPECT_THAT(out[0].values(), ElementsAre(-1, 1, 2, 127));
  EXPECT_THAT(out[1].values(), ElementsAre(124, 128, 130, 255));
  EXPECT_THAT(out[2].values(), ElementsAre(-1, 0, 0.5, 31.75));
}

TEST(TfliteBytes, WithoutScalesAreRefused) {
  const TfliteFolder f;
  TfliteModel m;
  m.input("x", {1, 2}, kTfSigned).floats("w", {1, 2}, {1, 2}).op(9, {"x", "w"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(m),
              HasSubstr("FULLY_CONNECTED (version 1): input 0 is s8[1, 2] without scales; 1 operator: 0 'y'"));
  TfliteModel q;
  q.input("x", {2}).tensor("q", {2}, kTfSigned).op(114, {"x"}, {"q"}).output("q");
  EXPECT_THAT(f.refusal(q), HasSubstr("QUANTIZE (version 1): s8[2] has no scales"));
  TfliteModel d;
  d.input("x", {2}, kTfSigned).op(6, {"x"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(d), HasSubstr("DEQUANTIZE (version 1): s8[2] has no scales"));
}

TEST(TfliteBytes, ScalesThatAreNoneAreRefused) {
  const TfliteFolder f;
  const auto with = [&](const TfliteScales& scales) {
    TfliteModel m;
    m.input("x", {2}, kTfSigned, scales).op(6, {"x"}, {"y"}).output("y");
    return f.refusal(m);
  };
  EXPECT_EQ(with({{0.5f}, {0}}), "accepted");
  EXPECT_EQ(with({{0}, {0}}), "tensor 0 'x': a scale of 0");
  EXPECT_EQ(with({{-1}, {0}}), "tensor 0 'x': a scale of -1");
  EXPECT_EQ(with({{std::nanf("")}, {0}}), "tensor 0 'x': a scale of nan");
  EXPECT_EQ(with({{1}, {200}}), "tensor 0 'x': a zero point of 200 among s8");
  EXPECT_EQ(with({{1}, {0, 0}}), "tensor 0 'x': it has 1 scales and 2 zero points");
  EXPECT_EQ(with({{1, 2}, {0, 0}, 5}), "tensor 0 'x': it has 2 scales for axis 5 of s8[2]");
  EXPECT_EQ(with({{1, 2, 3}, {0, 0, 0}}), "tensor 0 'x': it has 3 scales for axis 0 of s8[2]");
}

// 255 steps of 0.005, of which 0 is one.
TEST(TfliteBytes, FloatsInSteps) {
  TfliteModel m;
  m.input("x", {5});
  m.op(80, {"x"}, {"y"}, tables::CreateFakeQuantOptions(m.b, -0.1f, 1.175f, 8, false)).output("y");
  EXPECT_THAT(outputs_of(m, {tensor({5}, {-3, -0.0512f, 0, 0.4999f, 7})}),
              Near(std::vector<double>{-0.1, -0.05, 0, 0.5, 1.175}));
}

TEST(TfliteHalves, BecomeFloats) {
  std::vector<uint16_t> halves;
  for (const float v : {1.5f, -2.25f}) halves.push_back(f16_of_float(v));
  TfliteModel m;
  m.input("x", {2}).data("h", {2}, kTfHalf, bytes_of_numbers(halves)).op(6, {"h"}, {"w"}).op(18, {"x", "w"}, {"y"});
  m.output("y");
  EXPECT_THAT(outputs_of(m, {tensor({2}, {2, 4})}), ElementsAre(3, -9));
}

// [[1, 0, 2], [0, 0, 3]] by compressed rows.
flatbuffers::Offset<tables::Sparsity> by_rows(TfliteModel* m, std::vector<int32_t> segments,
                                              std::vector<uint8_t> places, int32_t dense = 2) {
  flatbuffers::FlatBufferBuilder& b = m->b;
  std::vector<flatbuffers::Offset<tables::SparseDimension>> dimensions{
      tables::CreateSparseDimension(b, 0, dense),
      tables::CreateSparseDimension(b, 1, 0, tables::Positions::Words, tables::CreateWordsDirect(b, &segments).Union(),
                                    tables::Positions::Bytes, tables::CreateBytesDirect(b, &places).Union())};
  const std::vector<int32_t> order{0, 1};
  return tables::CreateSparsityDirect(b, &order, nullptr, &dimensions);
}

TEST(TfliteSparse, WeightsHaveAllTheirElements) {
  TfliteModel m;
  const auto sparsity = by_rows(&m, {0, 2, 3}, {0, 2, 2});
  m.input("x", {2, 3}).data("s", {2, 3}, kTfFloat, bytes_of_numbers<float>({1, 2, 3}), {}, sparsity);
  m.op(124, {"s"}, {"d"}).op(0, {"x", "d"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(m, {tensor({2, 3}, Floats(6, 0))}), ElementsAre(1, 0, 2, 0, 0, 3));
}

TEST(TfliteSparse, InBlocks) {
  // Blocks of 1x2 in [2, 4]: the second of row 0, the first of row 1.
  TfliteModel m;
  flatbuffers::FlatBufferBuilder& b = m.b;
  const std::vector<int32_t> segments{0, 1, 2}, order{0, 1, 2}, map{1};
  const std::vector<uint16_t> places{1, 0};
  std::vector<flatbuffers::Offset<tables::SparseDimension>> dimensions{
      tables::CreateSparseDimension(b, 0, 2),
      tables::CreateSparseDimension(b, 1, 0, tables::Positions::Words, tables::CreateWordsDirect(b, &segments).Union(),
                                    tables::Positions::HalfWords, tables::CreateHalfWordsDirect(b, &places).Union()),
      tables::CreateSparseDimension(b, 0, 2)};
  const auto sparsity = tables::CreateSparsityDirect(b, &order, &map, &dimensions);
  m.input("x", {2, 4}).data("s", {2, 4}, kTfFloat, bytes_of_numbers<float>({1, 2, 3, 4}), {}, sparsity);
  m.op(124, {"s"}, {"d"}).op(0, {"x", "d"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(m, {tensor({2, 4}, Floats(8, 0))}), ElementsAre(0, 0, 1, 2, 3, 4, 0, 0));
}

TEST(TfliteSparse, IsRefusedWhereItDoesNotFit) {
  const TfliteFolder f;
  const auto with = [&](const std::vector<int32_t>& segments, const std::vector<uint8_t>& places, int32_t dense,
                        const std::vector<float>& elements) {
    TfliteModel m;
    const auto sparsity = by_rows(&m, segments, places, dense);
    m.input("x", {2, 3}).data("s", {2, 3}, kTfFloat, bytes_of_numbers(elements), {}, sparsity);
    m.op(124, {"s"}, {"d"}).op(0, {"x", "d"}, {"y"}).output("y");
    return f.refusal(m);
  };
  EXPECT_EQ(with({0, 2, 3}, {0, 2, 2}, 2, {1, 2, 3}), "accepted");
  EXPECT_EQ(with({0, 2, 3}, {0, 2, 2}, 2, {1, 2}), "tensor 's': it has 8 bytes for more than 2 places");
  EXPECT_EQ(with({0, 2, 3}, {0, 2, 2}, 2, {1, 2, 3, 4}), "tensor 's': it has 16 bytes for 3 places");
  EXPECT_EQ(with({0, 2}, {0, 2, 2}, 2, {1, 2, 3}), "tensor 's': a sparse dimension has too few segments");
  EXPECT_EQ(with({0, 2, 9}, {0, 2, 2}, 2, {1, 2, 3}), "tensor 's': a segment from 2 to 9 of 3 places");
  EXPECT_EQ(with({0, 2, 3}, {0, 3, 2}, 2, {1, 2, 3}), "tensor 's': place 3 of 3");
  EXPECT_EQ(with({0, 2, 3}, {0, 2, 2}, 5, {1, 2, 3}), "tensor 's': a dense dimension of 5 where f32[2, 3] has 2");
}

TEST(TfliteSparse, OfNothingButZerosIsNotMadeOutOfNothing) {
  const TfliteFolder f;
  TfliteModel m;
  const auto sparsity = by_rows(&m, {0, 1, 1}, {0}, 2);
  m.data("s", {2, 1 << 28}, kTfFloat, bytes_of_numbers<float>({1}), {}, sparsity).input("x", {1});
  m.op(124, {"s"}, {"y"}).output("y");
  EXPECT_EQ(f.refusal(m),
            "tensor 's': f32[2, 268435456] is stored as 4 bytes: more than 1024 times as many are refused");
}

}  // namespace
}  // namespace hone::tflite
