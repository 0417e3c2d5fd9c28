// Norms, activations and products that optimizers join to one node, and weights of few bits, against plain loops.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/graph/node_tests.h"

namespace hone {
namespace {

using testing::HasSubstr;

// Rows of `length`, normalized; without the mean taken out: by the root of the mean square alone.
std::vector<double> normalized(const std::vector<double>& x, size_t length, bool centres, double eps,
                               const Floats& scale, const Floats& bias) {
  std::vector<double> out;
  for (size_t row = 0; row < x.size(); row += length) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < length && centres; ++i) mean += x[row + i] / static_cast<double>(length);
    for (size_t i = 0; i < length; ++i)
      square += (x[row + i] - mean) * (x[row + i] - mean) / static_cast<double>(length);
    for (size_t i = 0; i < length; ++i)
      out.push_back((x[row + i] - mean) / std::sqrt(square + eps) * scale[i] + (bias.empty() ? 0 : bias[i]));
  }
  return out;
}

TEST(Norms, OfRootMeanSquares) {
  const ModelFolder f;
  const Floats x = numbers(12, 1), scale = numbers(6, 2);
  const std::vector<double> wide(x.begin(), x.end());
  for (const std::string op : {"RMSNormalization", "SimplifiedLayerNormalization"}) {
    TestModel m(23);
    m.input("x", {2, 3, 2}).floats("s", {3, 2}, scale);
    m.node(op, {"x", "s"}, {"y"}).number("axis", 1).real("epsilon", 0.25f).output("y");
    EXPECT_THAT(outputs_of(f.import(m), {tensor({2, 3, 2}, x)}), Near(normalized(wide, 6, false, 0.25, scale, {})));
  }
}

TEST(Norms, BehindASumThatIsAnOutput) {
  const ModelFolder f;
  const Floats x = numbers(12, 1), skip = numbers(6, 2), scale = numbers(3, 3), shift = numbers(3, 4),
               bias = numbers(3, 5);
  for (const bool centres : {true, false}) {
    TestModel m;
    m.input("x", {2, 2, 3}).input("k", {2, 3});
    m.floats("s", {3}, scale).floats("t", {3}, shift).floats("b", {3}, bias);
    if (centres)
      m.node("SkipLayerNormalization", {"x", "k", "s", "t", "b"}, {"y", "", "", "sum"});
    else
      m.node("SkipSimplifiedLayerNormalization", {"x", "k", "s", "b"}, {"y", "", "", "sum"});
    of_microsoft(m).real("epsilon", 0.25f).output("y").output("sum");
    std::vector<double> sum;
    for (size_t i = 0; i < 12; ++i) sum.push_back(double{x[i]} + skip[i % 6] + bias[i % 3]);
    std::vector<double> wanted = normalized(sum, 3, centres, 0.25, scale, centres ? shift : Floats{});
    wanted.insert(wanted.end(), sum.begin(), sum.end());
    EXPECT_THAT(outputs_of(f.import(m), {tensor({2, 2, 3}, x), tensor({2, 3}, skip)}), Near(wanted));
  }
}

TEST(Norms, OfEmbeddings) {
  const ModelFolder f;
  const Floats words = numbers(5 * 4, 1), places = numbers(6 * 4, 2), parts = numbers(2 * 4, 3), scale = numbers(4, 4),
               shift = numbers(4, 5);
  TestModel m;
  m.input("ids", {2, 3}, 6).input("segments", {2, 3}, 6).input("mask", {2, 3}, 6);
  m.floats("w", {5, 4}, words).floats("p", {6, 4}, places).floats("s", {2, 4}, parts);
  m.floats("g", {4}, scale).floats("b", {4}, shift);
  of_microsoft(m.node("EmbedLayerNormalization", {"ids", "segments", "w", "p", "s", "g", "b", "mask"}, {"y", "n"}));
  m.real("epsilon", 0.25f).output("y").output("n");
  const std::vector<int64_t> ids{4, 0, 2, 3, 3, 1}, segments{0, 0, 1, 1, 0, 1};
  std::vector<double> sum;
  for (size_t i = 0; i < 6; ++i)
    for (size_t e = 0; e < 4; ++e)
      sum.push_back(double{words[static_cast<size_t>(ids[i]) * 4 + e]} + places[i % 3 * 4 + e] +
                    parts[static_cast<size_t>(segments[i]) * 4 + e]);
  std::vector<double> wanted = normalized(sum, 4, true, 0.25, scale, shift);
  wanted.insert(wanted.end(), {2, 3});
  const auto input = [](const std::vector<int64_t>& v) { return TensorData::of_numbers(v, i32).reshaped({2, 3}); };
  EXPECT_THAT(outputs_of(f.import(m), {input(ids), input(segments), input({1, 1, 2, 1, 1, 1})}), Near(wanted));
}

TEST(Norms, OfGroupsOfChannels) {
  const ModelFolder f;
  const Floats x = numbers(2 * 4 * 3, 1), scale = numbers(4, 2), shift = numbers(4, 3);
  for (const int64_t opset : {18, 21}) {  // until 20 a scale for each group
    const int64_t scales = opset < 21 ? 2 : 4;
    TestModel m(opset);
    m.input("x", {2, 4, 3}).floats("s", {scales}, Floats(scale.begin(), scale.begin() + scales));
    m.floats("b", {scales}, Floats(shift.begin(), shift.begin() + scales));
    m.node("GroupNormalization", {"x", "s", "b"}, {"y"}).number("num_groups", 2).real("epsilon", 0.25f).output("y");
    std::vector<double> wanted = normalized({x.begin(), x.end()}, 6, true, 0.25, Floats(6, 1), {});
    for (size_t i = 0; i < wanted.size(); ++i) {
      const size_t channel = i / 3 % 4, which = opset < 21 ? channel / 2 : channel;
      wanted[i] = wanted[i] * scale[which] + shift[which];
    }
    EXPECT_THAT(outputs_of(f.import(m), {tensor({2, 4, 3}, x)}), Near(wanted)) << opset;
  }
}

TEST(FusedNodes, ActivationsWithTheirBias) {
  const ModelFolder f;
  const Floats x = numbers(12, 1), bias = numbers(4, 2);
  const auto gelu = [](double v) { return v * (1 + std::erf(v / std::sqrt(2.0))) / 2; };
  const auto fast = [](double v) {
    return v / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v)));
  };
  const auto quick = [](double v) { return v / (1 + std::exp(-double{1.702f} * v)); };
  const auto expect = [&](const std::string& op, bool has_bias, const std::function<double(double)>& function) {
    TestModel m;
    m.input("x", {3, 4}).floats("b", {4}, bias);
    of_microsoft(m.node(op, has_bias ? std::vector<std::string>{"x", "b"} : std::vector<std::string>{"x"}, {"y"}));
    std::vector<double> wanted;
    for (size_t i = 0; i < 12; ++i) wanted.push_back(function(double{x[i]} + (has_bias ? bias[i % 4] : 0)));
    EXPECT_THAT(outputs_of(f.import(m.output("y")), {tensor({3, 4}, x)}), Near(wanted)) << op;
  };
  expect("Gelu", false, gelu);
  expect("BiasGelu", true, gelu);
  expect("FastGelu", false, fast);
  expect("FastGelu", true, fast);
  expect("QuickGelu", false, quick);
}

TEST(FusedNodes, BiasesOfSumsAndHalves) {
  const ModelFolder f;
  const Floats x = numbers(12, 1), skip = numbers(12, 2), bias = numbers(4, 3);
  TestModel sum, halves;
  sum.input("x", {1, 3, 4}).input("k", {1, 3, 4}).floats("b", {4}, bias);
  of_microsoft(sum.node("BiasAdd", {"x", "b", "k"}, {"y"})).output("y");
  halves.input("x", {1, 3, 4}).floats("b", {4}, bias);
  of_microsoft(halves.node("BiasSplitGelu", {"x", "b"}, {"y"})).output("y");
  std::vector<double> of_sum, of_halves;
  for (size_t i = 0; i < 12; ++i) of_sum.push_back(double{x[i]} + bias[i % 4] + skip[i]);
  for (size_t row = 0; row < 3; ++row)
    for (size_t i = 0; i < 2; ++i) {
      const double left = double{x[row * 4 + i]} + bias[i], right = double{x[row * 4 + 2 + i]} + bias[2 + i];
      of_halves.push_back(left * right * (1 + std::erf(right / std::sqrt(2.0))) / 2);
    }
  EXPECT_THAT(outputs_of(f.import(sum), {tensor({1, 3, 4}, x), tensor({1, 3, 4}, skip)}), Near(of_sum));
  EXPECT_THAT(outputs_of(f.import(halves), {tensor({1, 3, 4}, x)}), Near(of_halves));
}

TEST(FusedNodes, ProductsOfWhatIsTransposed) {
  const ModelFolder f;
  const Floats a = numbers(24, 1), b = numbers(40, 2);
  // A [3, 2, 4] with its rows outside of the batch: 2 of [3, 4]; B [2, 5, 4] transposed.
  TestModel m;
  m.input("a", {3, 2, 4}).input("b", {2, 5, 4});
  of_microsoft(m.node("FusedMatMul", {"a", "b"}, {"y"})).number("transBatchA", 1).number("transB", 1);
  m.real("alpha", 0.5f).output("y");
  std::vector<double> wanted;
  for (size_t batch = 0; batch < 2; ++batch)
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < 5; ++j) {
        double sum = 0;
        for (size_t k = 0; k < 4; ++k) sum += double{a[(i * 2 + batch) * 4 + k]} * b[(batch * 5 + j) * 4 + k];
        wanted.push_back(sum / 2);
      }
  EXPECT_THAT(outputs_of(f.import(m), {tensor({3, 2, 4}, a), tensor({2, 5, 4}, b)}), Near(wanted));
}

TEST(FusedNodes, ConvolutionsAndProductsWithActivations) {
  const ModelFolder f;
  const Floats x = numbers(2 * 9, 1), w = numbers(3 * 2, 2), bias = numbers(3, 3), more = numbers(3 * 9, 4);
  TestModel conv, gemm;
  conv.input("x", {1, 2, 3, 3}).floats("w", {3, 2, 1, 1}, w).floats("b", {3}, bias).input("z", {1, 3, 3, 3});
  of_microsoft(conv.node("FusedConv", {"x", "w", "b", "z"}, {"y"})).text("activation", "LeakyRelu").output("y");
  conv.last->add_attribute()->set_name("activation_params");
  conv.last->mutable_attribute(conv.last->attribute_size() - 1)->add_floats(0.25f);
  std::vector<double> wanted;
  for (size_t o = 0; o < 3; ++o)
    for (size_t p = 0; p < 9; ++p) {
      const double v = double{bias[o]} + more[o * 9 + p] + double{x[p]} * w[o * 2] + double{x[9 + p]} * w[o * 2 + 1];
      wanted.push_back(v < 0 ? v / 4 : v);
    }
  EXPECT_THAT(outputs_of(f.import(conv), {tensor({1, 2, 3, 3}, x), tensor({1, 3, 3, 3}, more)}), Near(wanted));
  gemm.input("x", {9, 2}).floats("w", {3, 2}, w).floats("b", {3}, bias);
  of_microsoft(gemm.node("FusedGemm", {"x", "w", "b"}, {"y"})).number("transB", 1).text("activation", "Relu");
  gemm.output("y");
  wanted.clear();
  for (size_t i = 0; i < 9; ++i)
    for (size_t o = 0; o < 3; ++o)
      wanted.push_back(
          std::max(0.0, double{bias[o]} + double{x[i * 2]} * w[o * 2] + double{x[i * 2 + 1]} * w[o * 2 + 1]));
  EXPECT_THAT(outputs_of(f.import(gemm), {tensor({9, 2}, x)}), Near(wanted));
  conv.last->mutable_attribute(0)->set_s("Gelu");
  EXPECT_THAT(f.refusal(conv), HasSubstr("the activation Gelu is not supported"));
}

// [n, k] weights in blocks along k, the last one cut; packed as in the file.
struct Packed {
  int64_t n, k, bits, block;
  std::string bytes, zeros;
  Floats scales;
  std::vector<double> values;
};
Packed packed(int64_t n, int64_t k, int64_t bits, int64_t block, bool has_zeros) {
  Packed p{n, k, bits, block, {}, {}, {}, {}};
  const int64_t blocks = (k + block - 1) / block, most = bits == 4 ? 16 : 256;
  const auto pack = [&](std::string* to, const std::vector<int64_t>& numbers) {
    for (size_t i = 0; i < numbers.size(); i += static_cast<size_t>(8 / bits))
      *to +=
          static_cast<char>(bits == 8 ? numbers[i] : numbers[i] + (i + 1 < numbers.size() ? numbers[i + 1] << 4 : 0));
  };
  for (int64_t row = 0; row < n; ++row) {
    std::vector<int64_t> zeros;
    for (int64_t b = 0; b < blocks; ++b) {
      zeros.push_back(has_zeros ? (row * 5 + b * 3) % most : most / 2);
      p.scales.push_back(static_cast<float>(1 + (row + b) % 4) / 8);
      std::vector<int64_t> in_block;
      for (int64_t i = 0; i < block; ++i) {
        in_block.push_back((row * 7 + b * 11 + i * 13) % most);
        if (b * block + i < k)
          p.values.push_back(static_cast<double>(in_block.back() - zeros.back()) * p.scales.back());
      }
      pack(&p.bytes, in_block);
    }
    pack(&p.zeros, zeros);
  }
  return p;
}
TestModel product_with(const Packed& p, bool has_zeros, bool has_bias) {
  const int64_t blocks = (p.k + p.block - 1) / p.block;
  TestModel m;
  m.input("x", {2, p.k}).floats("s", {p.n * blocks}, p.scales);
  m.tensor("w", {p.n, blocks, p.block * p.bits / 8}, 2)->set_raw_data(p.bytes);
  m.tensor("z", {static_cast<int64_t>(p.zeros.size())}, 2)->set_raw_data(p.zeros);
  m.floats("b", {p.n}, numbers(p.n, 9));
  std::vector<std::string> inputs{"x", "w", "s", has_zeros ? "z" : ""};
  if (has_bias) inputs.insert(inputs.end(), {"", "b"});
  m.node("MatMulNBits", inputs, {"y"}).number("N", p.n).number("K", p.k).number("bits", p.bits);
  of_microsoft(m).number("block_size", p.block).output("y");
  return m;
}

TEST(WeightsInBlocks, AreWhatTheirBitsSay) {
  const ModelFolder f;
  for (const int64_t bits : {4, 8})
    for (const int64_t k : {32, 40, 17})
      for (const bool has_zeros : {false, true}) {
        const Packed p = packed(5, k, bits, 16, has_zeros);
        const Floats x = numbers(2 * k, 1), bias = numbers(5, 9);
        std::vector<double> wanted;
        for (int64_t row = 0; row < 2; ++row)
          for (int64_t n = 0; n < 5; ++n) {
            double sum = has_zeros ? bias[static_cast<size_t>(n)] : 0;
            for (int64_t i = 0; i < k; ++i)
              sum += double{x[static_cast<size_t>(row * k + i)]} * p.values[static_cast<size_t>(n * k + i)];
            wanted.push_back(sum);
          }
        EXPECT_THAT(outputs_of(f.import(product_with(p, has_zeros, has_zeros)), {tensor({2, k}, x)}),
                    testing::Pointwise(testing::DoubleNear(1e-3), wanted))
            << bits << " " << k << has_zeros;
        // Whole blocks are multiplied as they are stored.
        EXPECT_EQ(
            to_string(f.import(product_with(p, has_zeros, has_zeros)).graph).find("dense_nbits(") != std::string::npos,
            k == 32);
      }
}

TEST(WeightsInBlocks, SayWhatDoesNotFit) {
  const ModelFolder f;
  const Packed p = packed(5, 32, 4, 16, true);
  const auto refused = [&](const std::function<void(Packed*)>& change) {
    Packed other = p;
    change(&other);
    return f.refusal(product_with(other, true, false));
  };
  EXPECT_THAT(refused([](Packed* o) { o->zeros.pop_back(); }), HasSubstr("zero_points u8[4]"));
  TestModel m = product_with(p, true, false);
  m.last->mutable_attribute(2)->set_i(3);
  EXPECT_THAT(f.refusal(m), HasSubstr("bits=3 is not supported"));
  m.last->mutable_attribute(2)->set_i(4);
  m.last->mutable_attribute(0)->set_i(int64_t{1} << 40);
  EXPECT_THAT(f.refusal(m), HasSubstr("N=1099511627776"));
  m.last->mutable_attribute(0)->set_i(6);
  EXPECT_THAT(f.refusal(m), HasSubstr("weights u8[5, 2, 8] for 6 rows of 2 blocks of 8 bytes"));
}

TEST(QuantisedNodes, ByBlocksOfAnAxis) {
  const ModelFolder f;
  TestModel m(21);
  m.input("x", {5, 2}, 2).floats("s", {3, 2}, {0.5f, 1, 2, 4, 8, 16});
  m.tensor("z", {3, 2}, 2)->set_raw_data(std::string("\1\2\3\4\5\6"));
  m.node("DequantizeLinear", {"x", "s", "z"}, {"y"}).number("axis", 0).number("block_size", 2);
  m.node("QuantizeLinear", {"y", "s", "z"}, {"q"}).number("axis", 0).number("block_size", 2).output("y").output("q");
  const std::vector<double> scales{0.5, 1, 2, 4, 8, 16};
  std::vector<double> wanted, same;
  for (size_t i = 0; i < 10; ++i) {
    const size_t at = i / 4 * 2 + i % 2;
    same.push_back(static_cast<double>(i));
    wanted.push_back((static_cast<double>(i) - static_cast<double>(at + 1)) * scales[at]);
  }
  wanted.insert(wanted.end(), same.begin(), same.end());
  EXPECT_THAT(outputs_of(f.import(m), {TensorData::of_numbers({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, u8).reshaped({5, 2})}),
              Near(wanted));
}

TEST(QuantisedNodes, OfMicrosoft) {
  const ModelFolder f;
  TestModel m;
  m.input("a", {1, 4}, 2).input("b", {1, 4}, 2);
  m.floats("sa", {}, {0.5f}).floats("sb", {}, {0.25f}).floats("sy", {}, {0.125f});
  m.tensor("za", {}, 2)->add_int32_data(10);
  m.tensor("zb", {}, 2)->add_int32_data(20);
  m.tensor("zy", {}, 2)->add_int32_data(30);
  of_microsoft(m.node("QLinearMul", {"a", "sa", "za", "b", "sb", "zb", "sy", "zy"}, {"product"}));
  of_microsoft(m.node("QLinearConcat", {"sy", "zy", "a", "sa", "za", "b", "sb", "zb"}, {"both"})).number("axis", 1);
  of_microsoft(m.node("QLinearLeakyRelu", {"a", "sa", "za", "sy", "zy"}, {"leaky"})).real("alpha", 0.5f);
  of_microsoft(m.node("QLinearSigmoid", {"a", "sa", "za", "sy", "zy"}, {"sigmoid"}));
  m.output("product").output("both").output("leaky").output("sigmoid");
  const std::vector<int64_t> a{0, 9, 12, 40}, b{18, 20, 22, 60};
  std::vector<double> wanted;
  const auto real_a = [&](size_t i) { return static_cast<double>(a[i] - 10) * 0.5; };
  const auto real_b = [&](size_t i) { return static_cast<double>(b[i] - 20) * 0.25; };
  const auto add = [&](double v) { wanted.push_back(std::clamp(std::nearbyint(v / 0.125) + 30, 0.0, 255.0)); };
  for (size_t i = 0; i < 4; ++i) add(real_a(i) * real_b(i));
  for (size_t i = 0; i < 4; ++i) add(real_a(i));
  for (size_t i = 0; i < 4; ++i) add(real_b(i));
  for (size_t i = 0; i < 4; ++i) add(real_a(i) < 0 ? real_a(i) / 2 : real_a(i));
  for (size_t i = 0; i < 4; ++i) add(1 / (1 + std::exp(-real_a(i))));
  const auto input = [](const std::vector<int64_t>& v) { return TensorData::of_numbers(v, u8).reshaped({1, 4}); };
  EXPECT_EQ(outputs_of(f.import(m), {input(a), input(b)}), wanted);
}

TEST(QuantisedNodes, ProductsOfFloatsWithWeightsOf8Bits) {
  const ModelFolder f;
  const Floats x{-1, 0.4f, 2, 4, -0.25f, 1.4f};  // no halves
  TestModel m;
  m.input("x", {2, 3}).floats("s", {2}, {0.5f, 0.25f}).floats("b", {2}, {1, 2});
  const std::vector<int64_t> w{3, 200, 40, 7, 90, 120};
  std::string bytes;
  for (const int64_t v : w) bytes += static_cast<char>(v);
  m.tensor("w", {3, 2}, 2)->set_raw_data(bytes);
  m.tensor("z", {2}, 2)->set_raw_data(std::string("\12\24"));
  of_microsoft(m.node("DynamicQuantizeMatMul", {"x", "w", "s", "z", "b"}, {"y"})).output("y");
  const auto scale = double{5.0f / 255};
  std::vector<double> wanted;
  for (size_t row = 0; row < 2; ++row)
    for (size_t n = 0; n < 2; ++n) {
      double sum = 0;
      for (size_t k = 0; k < 3; ++k)
        sum += std::nearbyint(double{x[row * 3 + k]} / scale) * static_cast<double>(w[k * 2 + n] - (n ? 20 : 10));
      wanted.push_back(sum * scale * (n ? 0.25 : 0.5) + (n ? 2 : 1));
    }
  EXPECT_THAT(outputs_of(f.import(m), {tensor({2, 3}, x)}), testing::Pointwise(testing::DoubleNear(1e-3), wanted));
}

}  // namespace
}  // namespace hone
