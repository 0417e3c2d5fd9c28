// Which models are measured, and the contents of their files.
#include "tests/bench/models/model_list.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/exit_code.h"
#include "tests/bench/models/fill.h"
#include "tests/bench/models/signature.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_model.h"

namespace hone::bench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(GivenModels, FlagsAreForAllOrForTheOneThatTheyName) {
  const auto models = given_models({"/a/one.onnx", "two.onnx"}, {"batch=1", "two:seq=128"},
                                   {"one:input:0=1x3", "input:0=1x4"}, {"two:mask=1..1", "ids=0..255"});
  ASSERT_TRUE(models.ok()) << models.status();
  const ModelSpec &one = models->at(0), &two = models->at(1);
  EXPECT_EQ(one.name, "one");
  EXPECT_EQ(one.file, "/a/one.onnx");
  EXPECT_THAT(one.bind, ElementsAre("batch=1"));
  EXPECT_THAT(one.shapes, ElementsAre("input:0=1x3", "input:0=1x4")) << "'input' names no model";
  EXPECT_THAT(one.fills, ElementsAre(Pair("ids", Range{0, 255})));
  EXPECT_THAT(two.bind, ElementsAre("batch=1", "seq=128"));
  EXPECT_THAT(two.shapes, ElementsAre("input:0=1x4"));
  EXPECT_THAT(two.fills, ElementsAre(Pair("ids", Range{0, 255}), Pair("mask", Range{1, 1})));
}

TEST(GivenModels, RefusesNamesTwiceAndFillsThatAreNone) {
  EXPECT_THAT(message_of(given_models({"a/m.onnx", "b/m.onnx"}, {}, {}, {}).status()), HasSubstr("b/m.onnx"));
  for (const char* fill : {"x", "=0..1", "x=", "x=1", "x=2..1", "x=a..b", "x=0...1", "x=0..1000000000000000000000"}) {
    const Status s = given_models({"m.onnx"}, {}, {}, {fill}).status();
    EXPECT_EQ(exit_code_of(s), kExitUsage) << fill;
    EXPECT_THAT(message_of(s), HasSubstr("LOW..HIGH")) << fill;
  }
  EXPECT_EQ(parse_range("-0.5..1.25").value(), (Range{-0.5, 1.25}));
}

struct ListedModels : testing::Test {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path();
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder + "/" + name).parent_path());
    std::ofstream(folder + "/" + name) << text;
  }
};

TEST_F(ListedModels, HaveShapesValuesAndTheCommandThatFillsTheirWeights) {
  write("graphs/bert.json", "{}");  // a list of weights beside it: it is stripped
  write("models.json", R"({
    "vad": {"file": "real/vad.onnx", "inputs": {
      "input": {"shape": [1, 576], "free": ["N"], "data": "samples in [-1,1]"},
      "sr": {"shape": [], "free": [], "data": "16000"}}},
    "bert": {"file": "graphs/bert.onnx", "inputs": {
      "ids": {"shape": [1, 128], "free": ["batch"], "data": "0..30521"},
      "mask": {"shape": [1, 128], "free": ["batch"], "data": "ones, or ones then zeros"}}}})");
  const auto models = listed_models(folder, {}, "/cache");
  ASSERT_TRUE(models.ok()) << models.status();
  const ModelSpec &vad = models->at(0), &bert = models->at(1);
  EXPECT_EQ(vad.file, folder + "/real/vad.onnx");
  EXPECT_THAT(vad.make, IsEmpty());
  EXPECT_THAT(vad.shapes, ElementsAre("input=1x576"));
  EXPECT_THAT(vad.bind, ElementsAre("sr=16000"));
  EXPECT_EQ(bert.file, "/cache/bert.onnx");
  EXPECT_THAT(bert.make, ElementsAre("/usr/bin/env", "python3", folder + "/fill_weights.py",
                                     folder + "/graphs/bert.onnx", "/cache/bert.onnx.part"));
  EXPECT_THAT(bert.shapes, ElementsAre("ids=1x128", "mask=1x128"));
  EXPECT_THAT(bert.fills, ElementsAre(Pair("ids", Range{0, 30521}), Pair("mask", Range{1, 1})));
  EXPECT_EQ(listed_models(folder, {"bert"}, "/cache")->size(), 1u);
}

TEST_F(ListedModels, RefuseListsThatAreNoneAndNamesThatAreNotThere) {
  EXPECT_THAT(message_of(listed_models(folder, {}, "").status()), HasSubstr("no models.json"));
  for (const char* text : {"", "[1]", R"({"m": 1})", R"({"m": {"file": "m.onnx"}})"}) {
    write("models.json", text);
    const Status s = listed_models(folder, {}, "").status();
    EXPECT_EQ(exit_code_of(s), kExitUsage) << text;
    EXPECT_THAT(message_of(s), HasSubstr("models.json: ")) << text;
  }
  write("models.json", R"({"m": {"file": "m.onnx", "inputs": {}}})");
  EXPECT_THAT(message_of(listed_models(folder, {"n"}, "").status()),
              AllOf(HasSubstr("no model n"), HasSubstr("has m")));
}

struct SignatureOf : ListedModels {
  StatusOr<Signature> read(const TestModel& m) const {
    std::ofstream out(folder + "/m.onnx", std::ios::binary);
    m.model.SerializeToOstream(&out);
    out.close();
    return read_signature(folder + "/m.onnx");
  }
};

TEST_F(SignatureOf, HasInputsWithoutWeightsTheNamesOfTheirDimensionsAndAllBytes) {
  TestModel m;
  m.input("x", {"batch", 3}).input("w", {3}).input("sr", {}, kInt64).floats("w", {3}, {1, 2, 3});
  m.node("Add", {"x", "w"}, {"y"}).output("y");
  m.external("big", {2}, "big.bin");
  write("big.bin", "12345678");
  const auto s = read(m);
  ASSERT_TRUE(s.ok()) << s.status();
  ASSERT_EQ(s->inputs.size(), 2u);
  EXPECT_EQ(s->inputs[0].dims[0].symbol, "batch");
  EXPECT_EQ(s->inputs[0].dims[1].size, 3);
  EXPECT_EQ(s->inputs[1].name, "sr");
  EXPECT_EQ(s->inputs[1].onnx_type, kInt64);
  EXPECT_EQ(s->bytes, static_cast<int64_t>(std::filesystem::file_size(folder + "/m.onnx")) + 8);
  EXPECT_EQ(s->group, "other");
}

TEST_F(SignatureOf, GroupIsWhatTheModelMostlyConsistsOf) {
  const auto group = [&](const std::vector<std::string>& operators) {
    TestModel m;
    for (const std::string& op : operators) m.node(op, {"x"}, {"y"});
    return read(m)->group;
  };
  EXPECT_EQ(group({"Conv", "Relu", "Conv", "Gemm"}), "convolutions");
  EXPECT_EQ(group({"Conv", "MatMul", "Softmax", "MatMul"}), "products");
  EXPECT_EQ(group({"Conv", "QuantizeLinear", "DequantizeLinear"}), "quantised");
  EXPECT_EQ(group({"QLinearConv"}), "quantised");
  EXPECT_EQ(group({"MatMulInteger"}), "quantised");
}

TEST_F(SignatureOf, IsRefusedOfFilesThatAreNoModels) {
  write("m.onnx", "nonsense");
  EXPECT_EQ(exit_code_of(read_signature(folder + "/m.onnx").status()), kExitUsage);
  EXPECT_THAT(message_of(read_signature(folder + "/n.onnx").status()), HasSubstr(folder + "/n.onnx"));
}

TEST(OnnxType, IsTheNumberOfTheFormat) {
  EXPECT_EQ(onnx_type_of(f32).value(), kFloat);
  EXPECT_EQ(onnx_type_of(i64).value(), kInt64);
  EXPECT_EQ(onnx_type_of(boolean).value(), kBool);
  EXPECT_EQ(onnx_type_of(f16).value(), 10);
}

template <class T>
std::vector<T> filled(DType t, std::optional<Range> range, int64_t count = 1000, uint64_t seed = 1) {
  const std::string bytes = fill({t, {count}}, range, seed);
  std::vector<T> out(bytes.size() / sizeof(T));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(out.data()));
  return out;
}

TEST(Fill, WholeNumbersTakeAllValuesOfTheirRangeAndNoOther) {
  const auto ids = filled<int64_t>(i64, Range{3, 5});
  EXPECT_THAT(std::set<int64_t>(ids.begin(), ids.end()), ElementsAre(3, 4, 5));
  const auto small = filled<int8_t>(i8, std::nullopt, 10'000);
  EXPECT_EQ(*std::min_element(small.begin(), small.end()), -128);
  EXPECT_EQ(*std::max_element(small.begin(), small.end()), 127);
  EXPECT_THAT(filled<int64_t>(i64, Range{16000, 16000}, 1), ElementsAre(16000));
}

TEST(Fill, FloatsAreSpreadOverTheirRangeTheSameForASeed) {
  const auto x = filled<float>(f32, std::nullopt);
  EXPECT_LT(*std::min_element(x.begin(), x.end()), -0.9f);
  EXPECT_GT(*std::max_element(x.begin(), x.end()), 0.9f);
  EXPECT_EQ(x, filled<float>(f32, std::nullopt));
  EXPECT_NE(x, filled<float>(f32, std::nullopt, 1000, 2));
  EXPECT_EQ(filled<uint16_t>(f16, Range{1, 1}, 1).at(0), 0x3c00);
  EXPECT_EQ(filled<double>(f64, Range{2, 2}, 1).at(0), 2);
}

}  // namespace
}  // namespace hone::bench
