// com.microsoft's quantised operators against the same computation in ONNX's own; tensors of 4 bits.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/graph/node_tests.h"

namespace hone {
namespace {

using testing::HasSubstr;

constexpr int kU8 = 2, kS8 = 3, kU4 = 21, kS4 = 22;

std::string some_bytes(int64_t count, int seed) {
  std::string out;
  for (int64_t i = 0; i < count; ++i) out += static_cast<char>((i * 53 + seed * 29) % 256);
  return out;
}
std::vector<int64_t> as_numbers(const std::string& bytes) {
  std::vector<int64_t> out;
  for (const char c : bytes) out.push_back(static_cast<uint8_t>(c));
  return out;
}
TensorData byte_tensor(const Extents& shape, int seed) {
  return TensorData::of_numbers(as_numbers(some_bytes(element_count(shape), seed)), u8).reshaped(shape);
}

void add_bytes(TestModel* m, const std::string& name, const Extents& shape, int type, int seed) {
  m->tensor(name, shape, type)->set_raw_data(some_bytes(element_count(shape), seed));
}
void add_byte(TestModel* m, const std::string& name, int type, int value) {
  m->tensor(name, {}, type)->set_raw_data(std::string(1, static_cast<char>(value)));
}

// Both models give the same; bytes may differ by one where a number is rounded the other way.
void expect_same(const TestModel& a, const TestModel& b, const std::vector<TensorData>& inputs, double tolerance) {
  const ModelFolder f;
  const std::vector<double> wanted = outputs_of(f.import(b), inputs);
  ASSERT_FALSE(wanted.empty());
  EXPECT_THAT(outputs_of(f.import(a), inputs), testing::Pointwise(testing::DoubleNear(tolerance), wanted));
}

TEST(MicrosoftQuantised, AttentionOfBytes) {
  for (const bool of_columns : {false, true}) {
    const auto model = [&](bool spelled) {
      TestModel m;
      m.input("x", {2, 3, 8}, kU8).input("mask", {2, 3}, 6);
      add_bytes(&m, "w", {8, 24}, kS8, 1);
      m.floats("b", {24}, numbers(24, 2)).floats("sx", {}, {0.01f});
      Floats scales(of_columns ? 24 : 1, 0.02f);
      for (size_t i = 0; i < scales.size(); ++i) scales[i] += 0.001f * static_cast<float>(i);
      m.floats("sw", of_columns ? Extents{24} : Extents{}, scales);
      add_byte(&m, "zx", kU8, 120);
      m.tensor("zw", of_columns ? Extents{24} : Extents{}, kS8)->set_raw_data(std::string(scales.size(), '\3'));
      if (spelled) {
        m.node("DequantizeLinear", {"x", "sx", "zx"}, {"xf"});
        m.node("DequantizeLinear", {"w", "sw", "zw"}, {"wf"}).number("axis", 1);
        m.node("Attention", {"xf", "wf", "b", "mask"}, {"y"});
      } else {
        m.node("QAttention", {"x", "w", "b", "sx", "sw", "mask", "zx", "zw"}, {"y"});
      }
      of_microsoft(m).number("num_heads", 2).output("y");
      return m;
    };
    const TensorData mask = TensorData::of_numbers({1, 1, 0, 1, 1, 1}, i32).reshaped({2, 3});
    expect_same(model(false), model(true), {byte_tensor({2, 3, 8}, 5), mask}, 1e-4);
  }
}

TEST(MicrosoftQuantised, LstmWithWeightsOfBytes) {
  for (const bool of_columns : {false, true}) {
    const auto model = [&](bool spelled) {
      TestModel m;
      m.input("x", {4, 1, 5});
      const Extents scale = of_columns ? Extents{2, 12} : Extents{2}, zero = scale;
      const int64_t count = element_count(scale);
      for (const auto& [name, rows, seed] : {std::tuple("w", 5, 1), {"r", 3, 2}}) {
        const std::string n = name;
        add_bytes(&m, n, {2, rows, 12}, kS8, seed);
        Floats scales;
        for (int64_t i = 0; i < count; ++i) scales.push_back(0.01f + 0.0005f * static_cast<float>(i + seed));
        m.floats("s" + n, scale, scales);
        m.tensor("z" + n, zero, kS8)->set_raw_data(std::string(static_cast<size_t>(count), '\2'));
        if (!spelled) continue;
        // A number for each direction and column.
        Floats wide;
        for (int64_t d = 0; d < 2; ++d)
          for (int64_t i = 0; i < rows * 12; ++i)
            wide.push_back(scales[static_cast<size_t>(of_columns ? d * 12 + i % 12 : d)]);
        m.floats("wide" + n, {2, rows, 12}, wide);
        m.floats("two" + n, {}, {2});
        m.node("Cast", {n}, {n + "f"}).number("to", 1);
        m.node("Sub", {n + "f", "two" + n}, {n + "c"});
        m.node("Mul", {n + "c", "wide" + n}, {n + "d"});
        m.node("Transpose", {n + "d"}, {n + "t"}).ints("perm", {0, 2, 1});
      }
      m.floats("b", {2, 24}, numbers(48, 3));
      if (spelled)
        m.node("LSTM", {"x", "wt", "rt", "b"}, {"y", "h", "c"});
      else
        of_microsoft(m.node("DynamicQuantizeLSTM", {"x", "w", "r", "b", "", "", "", "", "sw", "zw", "sr", "zr"},
                            {"y", "h", "c"}));
      m.number("hidden_size", 3).text("direction", "bidirectional").output("y").output("h").output("c");
      return m;
    };
    expect_same(model(false), model(true), {tensor({4, 1, 5}, numbers(20, 4))}, 1e-5);
  }
}

TEST(MicrosoftQuantised, EmbeddingsOfBytes) {
  const auto model = [](bool spelled) {
    TestModel m;
    m.input("ids", {2, 3}, 6).input("segments", {2, 3}, 6).input("mask", {2, 3}, 6);
    const std::vector<std::string> tables{"words", "places", "parts", "gamma", "beta"};
    const std::vector<Extents> shapes{{9, 4}, {5, 4}, {2, 4}, {4}, {4}};
    std::vector<std::string> names{"ids", "segments"}, scales, zeros;
    for (size_t t = 0; t < tables.size(); ++t) {
      add_bytes(&m, tables[t], shapes[t], kU8, static_cast<int>(t));
      m.floats("s" + tables[t], {}, {0.01f * static_cast<float>(t + 1)});
      add_byte(&m, "z" + tables[t], kU8, static_cast<int>(90 + t));
      scales.push_back("s" + tables[t]);
      zeros.push_back("z" + tables[t]);
      if (spelled) m.node("DequantizeLinear", {tables[t], scales[t], zeros[t]}, {tables[t] + "f"});
      names.push_back(spelled ? tables[t] + "f" : tables[t]);
    }
    names.push_back("mask");
    if (!spelled) {
      names.insert(names.end(), scales.begin(), scales.end());
      names.insert(names.end(), zeros.begin(), zeros.end());
    }
    m.node(spelled ? "EmbedLayerNormalization" : "QEmbedLayerNormalization", names, {"y", "counts"});
    of_microsoft(m).real("epsilon", 0.25f).output("y").output("counts");
    return m;
  };
  const auto whole = [](const std::vector<int64_t>& v) { return TensorData::of_numbers(v, i32).reshaped({2, 3}); };
  expect_same(model(false), model(true),
              {whole({0, 8, 3, 3, 1, 7}), whole({0, 0, 1, 1, 0, 1}), whole({1, 1, 1, 1, 1, 0})}, 1e-5);
}

// An operator on images with the channels last, and ONNX's between transpositions.
TestModel image_model(bool spelled, const std::string& op) {
  TestModel m;
  m.input("x", {1, 5, 6, 4}, kU8).floats("sx", {}, {0.02f}).floats("sy", {}, {0.03f}).floats("sw", {}, {0.01f});
  add_byte(&m, "zx", kU8, 100);
  add_byte(&m, "zy", kU8, 80);
  add_byte(&m, "zw", kS8, 1);
  add_bytes(&m, "w", {3, 4, 3, 3}, kS8, 2);
  const std::string in = spelled ? "xt" : "x", out = spelled ? "yt" : "y";
  if (spelled) m.node("Transpose", {"x"}, {"xt"}).ints("perm", {0, 3, 1, 2});
  if (op == "QLinearConv") {
    m.node(op, {in, "sx", "zx", "w", "sw", "zw", "sy", "zy"}, {out}).ints("pads", {1, 1, 1, 1});
  } else if (op == "NhwcMaxPool") {
    m.node(spelled ? "MaxPool" : op, {in}, {out}).ints("kernel_shape", {2, 3}).ints("strides", {2, 1});
  } else {
    m.node(op, {in, "sx", "zx", "sy", "zy"}, {out});
    if (op == "QLinearAveragePool") m.ints("kernel_shape", {2, 2});
  }
  if (spelled ? op != "QLinearConv" && op != "NhwcMaxPool" : true) of_microsoft(m);
  if (!spelled && op != "NhwcMaxPool") m.number("channels_last", 1);
  if (spelled) m.node("Transpose", {"yt"}, {"y"}).ints("perm", {0, 2, 3, 1});
  m.output("y");
  return m;
}

TEST(MicrosoftQuantised, ImagesWithTheChannelsLast) {
  for (const char* op : {"QLinearConv", "NhwcMaxPool", "QLinearAveragePool", "QLinearGlobalAveragePool"}) {
    SCOPED_TRACE(op);
    expect_same(image_model(false, op), image_model(true, op), {byte_tensor({1, 5, 6, 4}, 3)}, 1);
  }
}

TEST(MicrosoftQuantised, Choices) {
  const auto model = [](bool spelled) {
    TestModel m;
    m.input("c", {2, 3}, kBool).input("x", {2, 3}, kU8).input("y", {2, 3}, kU8);
    m.floats("sx", {}, {0.5f}).floats("sy", {}, {0.25f}).floats("sz", {}, {0.375f});
    add_byte(&m, "zx", kU8, 100);
    add_byte(&m, "zy", kU8, 30);
    add_byte(&m, "zz", kU8, 60);
    if (!spelled) {
      of_microsoft(m.node("QLinearWhere", {"c", "x", "sx", "zx", "y", "sy", "zy", "sz", "zz"}, {"w"}));
    } else {
      m.node("DequantizeLinear", {"x", "sx", "zx"}, {"xf"}).node("DequantizeLinear", {"y", "sy", "zy"}, {"yf"});
      m.node("Where", {"c", "xf", "yf"}, {"wf"}).node("QuantizeLinear", {"wf", "sz", "zz"}, {"w"});
    }
    return m.output("w"), m;
  };
  const TensorData c = TensorData::of_numbers({1, 0, 1, 0, 0, 1}, boolean).reshaped({2, 3});
  expect_same(model(false), model(true), {c, byte_tensor({2, 3}, 1), byte_tensor({2, 3}, 2)}, 0);
}

// Weights of [7, 3] by blocks of 4 rows, and the numbers that they stand for.
TestModel four_bits(int type, const std::string& packed, bool is_raw) {
  TestModel m(21);
  m.input("x", {2, 7}).floats("s", {2, 3}, {0.5f, 1, 2, 4, 8, 16});
  onnx::Tensor* w = m.tensor("w", {7, 3}, type);
  if (is_raw)
    w->set_raw_data(packed);
  else
    for (const char byte : packed) w->add_int32_data(static_cast<uint8_t>(byte));
  m.node("DequantizeLinear", {"w", "s"}, {"d"}).number("axis", 0).number("block_size", 4);
  m.node("MatMul", {"x", "d"}, {"y"}).output("y");
  return m;
}

TEST(FourBits, AreReadAsTheyArePacked) {
  const ModelFolder f;
  const std::string packed = some_bytes(11, 3);
  const Floats x = numbers(14, 1), scales{0.5f, 1, 2, 4, 8, 16};
  for (const int type : {kU4, kS4})
    for (const bool is_raw : {true, false}) {
      std::vector<double> wanted;
      for (size_t row = 0; row < 2; ++row)
        for (size_t n = 0; n < 3; ++n) {
          double sum = 0;
          for (size_t k = 0; k < 7; ++k) {
            const size_t i = k * 3 + n;
            const auto byte = static_cast<uint8_t>(packed[i / 2]);
            int v = i % 2 ? byte >> 4 : byte & 15;
            if (type == kS4 && v >= 8) v -= 16;
            sum += double{x[row * 7 + k]} * v * double{scales[k / 4 * 3 + n]};
          }
          wanted.push_back(sum);
        }
      EXPECT_THAT(outputs_of(f.import(four_bits(type, packed, is_raw)), {tensor({2, 7}, x)}),
                  testing::Pointwise(testing::DoubleNear(1e-3), wanted));
    }
}

// An odd number of them, in a file beside the model.
TEST(FourBits, MayLieBesideTheModel) {
  const ModelFolder f;
  const std::string packed = some_bytes(11, 3);
  f.write("w.bin", std::string(5, '\xff') + packed);
  TestModel m = four_bits(kS4, "", true);
  for (onnx::Tensor& t : *m.graph()->mutable_initializer()) {
    if (t.name() != "w") continue;
    t.clear_raw_data();
    t.set_data_location(1);
    for (const auto& [key, value] : {std::pair("location", "w.bin"), {"offset", "5"}, {"length", "11"}}) {
      onnx::Entry* e = t.add_external_data();
      e->set_key(key);
      e->set_value(value);
    }
  }
  const TensorData x = tensor({2, 7}, numbers(14, 1));
  EXPECT_EQ(outputs_of(f.import(m), {x}), outputs_of(f.import(four_bits(kS4, packed, true)), {x}));
  f.write("w.bin", std::string(15, '\xff'));
  EXPECT_THAT(f.refusal(m), HasSubstr("it takes 11 bytes; 'w.bin' has 15"));
}

// Types that the operator does not allow go through nodes, which refuse them or compute.
TEST(FourBits, BlocksOfOtherTypesAreNoLoop) {
  const ModelFolder f;
  TestModel m(21);
  m.input("x", {2}).floats("s", {1, 2}, {0.5f, 1}).floats("z", {1, 2}, {1, 2});
  m.tensor("w", {2, 2}, kU8)->set_raw_data(std::string("\1\2\3\4"));
  m.node("DequantizeLinear", {"w", "s", "z"}, {"d"}).number("axis", 0).number("block_size", 2);
  m.node("MatMul", {"x", "d"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(f.import(m), {tensor({2}, {1, 1})}), Near(std::vector<double>{1, 2}));
}

TEST(FourBits, BlocksOfNothingAreRefused) {
  const ModelFolder f;
  TestModel m(21);
  m.input("x", {2}).floats("s", {1, 4}, {1, 1, 1, 1});
  m.tensor("w", {0, 4}, kS4)->set_raw_data("");
  m.node("DequantizeLinear", {"w", "s"}, {"d"}).number("axis", 0).number("block_size", 2).output("d").output("x");
  EXPECT_THAT(f.refusal(m), HasSubstr("block_size=2"));
}

TEST(MicrosoftQuantised, WhatIsNotComputedIsRefused) {
  const ModelFolder f;
  TestModel m;
  m.input("x", {}, kU8).floats("s", {}, {1});
  add_byte(&m, "z", kU8, 3);
  of_microsoft(m.node("QLinearGlobalAveragePool", {"x", "s", "z", "s", "z"}, {"y"})).number("channels_last", 1);
  EXPECT_THAT(f.refusal(m.output("y")), HasSubstr("QLinearGlobalAveragePool"));
  TestModel lstm;
  lstm.input("x", {2, 1, 2}).floats("s", {1}, {1});
  add_bytes(&lstm, "w", {1, 2, 4}, kS8, 1);
  add_bytes(&lstm, "r", {1, 1, 4}, kS8, 1);
  lstm.tensor("z", {1}, kS8)->set_raw_data(std::string(1, '\0'));
  of_microsoft(lstm.node("DynamicQuantizeLSTM", {"x", "w", "r", "", "", "", "", "", "s", "z", "s", "z"},
                         {"y", "h", "c", "more"}));
  lstm.number("hidden_size", 1).output("more");
  EXPECT_THAT(f.refusal(lstm), HasSubstr("output 3 is not supported"));
}

TEST(FourBits, OfAnotherSizeAreRefused) {
  const ModelFolder f;
  EXPECT_THAT(f.refusal(four_bits(kS4, some_bytes(10, 1), true)), HasSubstr("takes 11 bytes; the file has 10"));
  EXPECT_THAT(f.refusal(four_bits(kS4, some_bytes(21, 1), true)), HasSubstr("takes 11 bytes; the file has 21"));
}

TEST(FourBits, AreQuantisedToWhereverTheirZeroPointComesFrom) {
  const ModelFolder f;
  TestModel moved(21);
  moved.input("x", {4}).floats("s", {}, {0.5f}).numbers("none", {0}, {});
  moved.tensor("z", {1}, kS4)->set_raw_data(std::string(1, '\x1'));
  moved.node("Reshape", {"z", "none"}, {"zr"}).node("QuantizeLinear", {"x", "s", "zr"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(f.import(moved), {tensor({4}, {-9, -1, 1, 9})}), testing::ElementsAre(-8, -1, 3, 7));
}

}  // namespace
}  // namespace hone
