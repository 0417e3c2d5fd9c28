// Files that are wrong or odd: refused in one line, in little time, whatever their bytes are.
#include <sys/stat.h>

#include <random>

#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// One of most that readers look at: options, a shape, scales, sparse weights.
std::string sample() {
  TfliteModel m;
  const auto sparsity = m.three_of_two_rows();
  m.input("x", {1, 4, 4, 2}).floats("w", {3, 2, 2, 2}, some_numbers(24, 1)).floats("b", {3}, {1, 2, 3});
  m.op(3, {"x", "w", "b"}, {"c"}, tables::CreateConvOptions(m.b, 0, 2, 2, 1));
  m.numbers("s", {4, 3}).op(22, {"c", "s"}, {"r"});
  m.data("p", {2, 3}, kTfFloat, bytes_of_numbers<float>({1, 2, 3}), {}, sparsity).op(124, {"p"}, {"d"});
  m.op(9, {"r", "d"}, {"f"}, tables::CreateFullyConnectedOptions(m.b));
  m.tensor("q", {4, 2}, kTfSigned, {{0.5f}, {1}}).op(114, {"f"}, {"q"}).output("q").output("c");
  return m.bytes();
}

TEST(TfliteFile, IsKnownByItsBegin) {
  EXPECT_TRUE(knows_tflite("m", sample()));
  EXPECT_FALSE(knows_tflite("m.tflite", "TFL3TFL4"));
  EXPECT_FALSE(knows_tflite("m.tflite", "1234TFL"));
}

TEST(TfliteFile, NoModel) {
  const TfliteFolder f;
  EXPECT_EQ(f.refusal_of_bytes(sample()), "accepted");
  for (const std::string& text : {std::string(), std::string("hello"), std::string(100, '\0'),
                                  std::string("\x10\0\0\0TFL3", 8), std::string("\xff\xff\xff\xffTFL3", 8)})
    EXPECT_EQ(f.refusal_of_bytes(text), "not a model of TensorFlow Lite, or cut off");
  EXPECT_THAT(refusal_of([&] { import_tflite(f.path() + "none", test_operators()); }), HasSubstr("No such file"));
  EXPECT_THAT(refusal_of([&] { import_tflite("/", test_operators()); }), HasSubstr("it is a folder, not a plain file"));
  const std::string pipe = f.path() + ".pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refusal_of([&] { import_tflite(pipe, test_operators()); }), HasSubstr("not a plain file"));
}

TEST(TfliteFile, OfAnotherVersion) {
  const TfliteFolder f;
  TfliteModel m;
  m.version = 2;
  m.input("x", {1}).op(19, {"x"}, {"y"}).output("y");
  EXPECT_EQ(f.refusal(m), "it is of version 2 of the format; 3 is supported");
}

TEST(TfliteFile, CutOffAnywhere) {
  const TfliteFolder f;
  const std::string bytes = sample();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string what = f.refusal_of_bytes(bytes.substr(0, size));
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
  }
}

// Whatever the bytes are: read, or refused by an error that begins with the path (which refusal_of_bytes() looks at);
// no other exception, no signal. Sanitizers see what they do to memory (deploy/sanitize).
TEST(TfliteFile, MutatedBytes) {
  const TfliteFolder f;
  const std::string bytes = sample();
  std::mt19937_64 rng(1);
  int accepted = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string other = bytes;
    for (int n = 0; n < 1 + i % 4; ++n) {
      const size_t at = rng() % other.size();
      // Numbers next to the old one reach further than any.
      other[at] = static_cast<char>(i % 3 ? static_cast<int>(rng()) : other[at] + (rng() % 2 ? 1 : -1));
    }
    accepted += f.refusal_of_bytes(other) == "accepted";
  }
  EXPECT_GT(accepted, 100) << "bytes of weights may be any";
}

TEST(TfliteFile, IndicesThatAreNone) {
  const TfliteFolder f;
  const auto with = [&](int32_t input, int32_t output, uint32_t code, int32_t of_graph, uint32_t buffer) {
    flatbuffers::FlatBufferBuilder b;
    const std::vector<int32_t> shape{2}, inputs{0}, in{input}, out{output}, outputs{of_graph};
    std::vector<flatbuffers::Offset<tables::Tensor>> tensors{tables::CreateTensorDirect(b, &shape, 0, 0, "x"),
                                                             tables::CreateTensorDirect(b, &shape, 0, 0, "y"),
                                                             tables::CreateTensorDirect(b, &shape, 0, buffer, "c")};
    std::vector<flatbuffers::Offset<tables::Operator>> nodes{tables::CreateOperatorDirect(b, code, &in, &out)};
    std::vector<flatbuffers::Offset<tables::SubGraph>> graphs{
        tables::CreateSubGraphDirect(b, &tensors, &inputs, &outputs, &nodes)};
    std::vector<flatbuffers::Offset<tables::OperatorCode>> codes{tables::CreateOperatorCode(b, 19, 0, 1, 19)};
    std::vector<flatbuffers::Offset<tables::Buffer>> buffers{tables::CreateBuffer(b)};
    tables::FinishModelBuffer(b, tables::CreateModelDirect(b, 3, &codes, &graphs, nullptr, &buffers));
    return f.refusal_of_bytes({reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()});
  };
  EXPECT_EQ(with(0, 1, 0, 1, 0), "accepted");
  EXPECT_EQ(with(7, 1, 0, 1, 0), "there is no tensor 7; there are 3");
  EXPECT_EQ(with(-2, 1, 0, 1, 0), "there is no tensor -2; there are 3");
  EXPECT_EQ(with(0, 9, 0, 1, 0), "there is no tensor 9; there are 3");
  EXPECT_EQ(with(0, -1, 0, 1, 0), "there is no tensor -1; there are 3");
  EXPECT_EQ(with(0, 1, 5, 1, 0), "an operator's code has the index 5; there are 1 codes");
  EXPECT_EQ(with(0, 1, 0, 3, 0), "there is no tensor 3; there are 3");
  EXPECT_EQ(with(0, 1, 0, 2, 0), "nothing computes the output 'c'");
  EXPECT_EQ(with(2, 1, 0, 1, 0), "operator 0 (RELU) reads 'c', which no operator in front of it computes");
  EXPECT_EQ(with(2, 1, 0, 1, 4), "tensor 'c': its buffer is 4; there are 1");
  EXPECT_EQ(with(1, 1, 0, 1, 0), "operator 0 (RELU) reads 'y', which no operator in front of it computes");
  EXPECT_EQ(with(0, 0, 0, 1, 0), "operator 0 (RELU) computes 'x', which is there already");
}

TEST(TfliteFile, TensorsThatAreNone) {
  const TfliteFolder f;
  const auto with = [&](const std::vector<int32_t>& shape, int8_t type) {
    TfliteModel m;
    m.input("x", shape, type).op(19, {"x"}, {"y"}).output("y");
    return f.refusal(m);
  };
  EXPECT_EQ(with(std::vector<int32_t>(33, 1), kTfFloat), "tensor 0 'x': it has 33 axes; 32 are the most");
  EXPECT_THAT(with({1, 2, 3, 4, 5, 6, 7, 8, 9}, kTfFloat), HasSubstr("9 axes; at most 8"));
  EXPECT_EQ(with({-7}, kTfFloat), "tensor 0 'x': an extent of -7");
  EXPECT_THAT(with({INT32_MAX, INT32_MAX}, kTfFloat), HasSubstr("more than 2^48 elements"));
  EXPECT_EQ(with({2}, kTfString), "tensor 0 'x': its elements are strings, which is not supported");
  EXPECT_EQ(with({2}, 11), "tensor 0 'x': its elements are complex numbers of f64, which is not supported");
  EXPECT_EQ(with({2}, 99), "tensor 0 'x': its elements are TensorFlow Lite's type 99, which is not supported");
}

TEST(TfliteFile, DataOfAnotherSize) {
  const TfliteFolder f;
  const auto with = [&](const std::string& bytes) {
    TfliteModel m;
    m.input("x", {2}).data("c", {2}, kTfFloat, bytes).op(0, {"x", "c"}, {"y"}).output("y");
    return f.refusal(m);
  };
  EXPECT_EQ(with(std::string(8, '\0')), "accepted");
  EXPECT_EQ(with(std::string(7, '\0')), "tensor 'c': f32[2] takes 8 bytes; the file has 7");
  EXPECT_EQ(with(std::string(12, '\0')), "tensor 'c': f32[2] takes 8 bytes; the file has 12");
}

// Large models have their data behind the tables: here a page of zeros, then 1 and 2.
TEST(TfliteFile, DataBehindTheTables) {
  const TfliteFolder f;
  constexpr size_t kPage = 4096;
  const auto with = [&](uint64_t offset, uint64_t size) {
    TfliteModel m;
    m.input("x", {2}).tensor("c", {2}, kTfFloat, {}, m.buffer_at(offset, size)).op(0, {"x", "c"}, {"y"}).output("y");
    std::string bytes = m.bytes();
    EXPECT_LT(bytes.size(), kPage);
    bytes.resize(kPage, '\0');
    return bytes + bytes_of_numbers<float>({1, 2});
  };
  f.write(with(kPage, 8));
  const Graph g = import_tflite(f.path(), test_operators()).graph;
  EXPECT_THAT(interpret(g, {tensor({2}, {10, 20})}, &evaluate)[0].values(), testing::ElementsAre(11, 22));
  EXPECT_EQ(f.refusal_of_bytes(with(kPage, 4)), "tensor 'c': f32[2] takes 8 bytes; the file has 4");
  EXPECT_EQ(f.refusal_of_bytes(with(kPage + 1, 8)), "tensor 'c': its 8 bytes from 4097 on lie outside of the file");
  EXPECT_THAT(f.refusal_of_bytes(with(UINT64_MAX, 8)), HasSubstr("lie outside of the file"));
  EXPECT_THAT(f.refusal_of_bytes(with(16, UINT64_MAX)), HasSubstr("lie outside of the file"));
}

TEST(TfliteFile, OutputsMayBeInputsAndConstants) {
  TfliteModel m;
  m.input("x", {2}).floats("c", {2}, {3, 4}).op(19, {"x"}, {"y"}).output("c").output("x").output("y").output("y");
  EXPECT_THAT(outputs_of(m, {tensor({2}, {-1, 2})}), testing::ElementsAre(3, 4, -1, 2, 0, 2, 0, 2));
}

TEST(TfliteFile, InputsThatCallersChoose) {
  const TfliteFolder f;
  TfliteModel open;
  open.input("x", {-1, -1, 3}).op(19, {"x"}, {"y"}).output("y");
  EXPECT_EQ(f.refusal(open), "dimension 1 of 'x' is not known; give it: --shape x=1xNx3");
  const ImportOptions larger{.shapes = {{"x", {2, 4, 3}}}};
  TfliteModel given;
  given.input("x", {-1, -1, 3}).op(19, {"x"}, {"y"}).output("y");
  EXPECT_EQ(f.import(given, larger).graph.outputs[0].type.shape, (Extents{2, 4, 3}));
  // As converters write it: 1, and beside it that any will do.
  TfliteModel signature;
  signature.input("x", {1, 1, 3}, kTfFloat, {}, {-1, -1, 3}).op(19, {"x"}, {"y"}).output("y");
  EXPECT_EQ(f.import(signature, larger).graph.outputs[0].type.shape, (Extents{2, 4, 3}));
}

TEST(TfliteFile, WhatIsNotSupportedIsSaidAtOnce) {
  const TfliteFolder f;
  TfliteModel m;
  m.input("x", {2}).op(15, {"x"}, {"a"}).op(15, {"x"}, {"b"}).op(19, {"b"}, {"c"}).op(30, {"x"}, {"d"});
  m.custom("Frobnicate", {"x"}, {"e"}, {}).op(250, {"x"}, {"g"}).output("c");
  EXPECT_EQ(f.refusal(m),
            "it has operators that are not supported:\n"
            "  LSH_PROJECTION (version 1): the operator is not supported; 2 operators: 0 'a', 1 'b'\n"
            "  SKIP_GRAM (version 1): the operator is not supported; 1 operator: 3 'd'\n"
            "  custom Frobnicate (version 1): the operator is not supported: --operators FILE may define Frobnicate; 1 "
            "operator: 4 'e'\n"
            "  operator 250 (version 1): the operator is not supported; 1 operator: 5 'g'");
}

TEST(TfliteFile, OptionsOfAnotherOperator) {
  const TfliteFolder f;
  TfliteModel m;
  m.input("x", {1, 2, 2, 1}).floats("w", {1, 1, 1, 1}, {1});
  m.op(3, {"x", "w"}, {"y"}, tables::CreatePoolOptions(m.b)).output("y");
  EXPECT_THAT(f.refusal(m), HasSubstr("its options are of kind 5, which are another operator's"));
}

TEST(TfliteFile, VariablesAreRefused) {
  const TfliteFolder f;
  TfliteModel m;
  m.input("x", {2}).tensor("v", {2}, kTfFloat, {}, m.buffer(std::string(8, '\0')), {}, 0, true);
  m.op(0, {"x", "v"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(m), HasSubstr("'v'"));
}

TEST(TfliteFile, TooFewInputs) {
  const TfliteFolder f;
  for (int32_t number = 0; number < 162; ++number) {
    TfliteModel none;
    none.input("x", {2, 2}).op(number, {}, {"y"}).output("y");
    EXPECT_NE(f.refusal(none), "accepted") << number;
    TfliteModel one;
    one.input("x", {2, 2}).op(number, {"x"}, {"y"}).output("y");
    f.refusal(one);  // no other exception
    TfliteModel left_out;
    left_out.input("x", {2, 2}).op(number, {"", "x", "", "x"}, {"y"}).output("y");
    f.refusal(left_out);
  }
}

}  // namespace
}  // namespace hone::tflite
