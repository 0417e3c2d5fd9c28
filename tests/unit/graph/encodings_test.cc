// Types that models store and nothing computes with: floats of 8 and 4 bits, integers of 4 and 2.
#include <gmock/gmock.h>

#include "compiler/graph/extents.h"
#include "tests/unit/graph/node_tests.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// ONNX's numbers of types.
constexpr int kFloat = 1, kE4M3FN = 17, kE5M2 = 19, kUint4 = 21, kInt4 = 22, kE2M1 = 23, kE8M0 = 24, kUint2 = 25,
              kInt2 = 26;

onnx::Tensor stored(const std::string& name, int type, const Extents& dims, const std::string& bytes) {
  onnx::Tensor t;
  t.set_name(name);
  t.set_data_type(type);
  for (const int64_t n : dims) t.add_dims(n);
  t.set_raw_data(bytes);
  return t;
}

// y = the constant w of this type as floats.
TestModel constant_as_floats(int type, const Extents& dims, const std::string& bytes) {
  TestModel m;
  m.input("x", {1});
  *m.graph()->add_initializer() = stored("w", type, dims, bytes);
  m.node("Cast", {"w"}, {"y"}).number("to", kFloat).output("y").output("x");
  return m;
}

std::vector<double> numbers_of(int type, const Extents& dims, const std::string& bytes) {
  std::vector<double> all = outputs_of(ModelFolder().import(constant_as_floats(type, dims, bytes)), {tensor({1}, {0})});
  all.pop_back();
  return all;
}

TEST(Encodings, OfConstantsAreUnpacked) {
  EXPECT_THAT(numbers_of(kInt2, {5}, "\xE4\x02"), ElementsAre(0, 1, -2, -1, -2));
  EXPECT_THAT(numbers_of(kUint2, {5}, "\xE4\x02"), ElementsAre(0, 1, 2, 3, 2));
  EXPECT_THAT(numbers_of(kInt4, {3}, "\xF7\x08"), ElementsAre(7, -1, -8));
  EXPECT_THAT(numbers_of(kUint4, {3}, "\xF7\x08"), ElementsAre(7, 15, 8));
  EXPECT_THAT(numbers_of(kE2M1, {3}, "\x71\x0B"), ElementsAre(0.5, 6, -1.5));
  EXPECT_THAT(numbers_of(kE4M3FN, {4}, "\x38\x01\xFE\x7F"), ElementsAre(1, 0x1p-9, -448, testing::IsNan()));
  EXPECT_THAT(numbers_of(kE5M2, {3}, "\x3C\x7B\xFC"), ElementsAre(1, 57344, -std::numeric_limits<double>::infinity()));
  EXPECT_THAT(numbers_of(kE8M0, {3}, "\x7F\x80\xFF"), ElementsAre(1, 2, testing::IsNan()));
  EXPECT_THAT(ModelFolder().refusal(constant_as_floats(kInt2, {5}, "\xE4")),
              HasSubstr("takes 2 bytes; the file has 1"));
}

// A graph's elements are bytes: values of integers, codes of floats.
TEST(Encodings, AtTheBorderAreBytes) {
  TestModel m;
  m.input("x", {2, 2}, kE4M3FN);
  m.node("Transpose", {"x"}, {"t"}).ints("perm", {1, 0});
  m.numbers("shape", {1}, {4}).node("Reshape", {"t", "shape"}, {"y"});
  m.node("Cast", {"y"}, {"z"}).number("to", kFloat).node("Cast", {"z"}, {"i"}).number("to", kInt4);
  m.output("y").output("z").output("i");
  const ImportedModel model = ModelFolder().import(m);
  EXPECT_EQ(model.graph.inputs[0].type, (TensorType{u8, {2, 2}}));
  EXPECT_EQ(model.graph.outputs[0].type.dtype, u8);
  EXPECT_EQ(model.graph.outputs[2].type.dtype, i8);
  EXPECT_THAT(outputs_of(model, {TensorData({u8, {2, 2}}, "\x38\xC0\x50\x55")}),
              ElementsAre(0x38, 0x50, 0xC0, 0x55, 1, 8, -2, 13, 1, -8, -2, -3));
}

TEST(Encodings, AreQuantisedToWithTheirOwnEnds) {
  for (const auto& [type, wanted] : std::vector<std::pair<int, std::vector<double>>>{{kInt4, {-8, -8, -1, 0, 2, 7, 7}},
                                                                                     {kUint4, {0, 0, 0, 0, 2, 7, 15}},
                                                                                     {kInt2, {-2, -2, -1, 0, 1, 1, 1}},
                                                                                     {kUint2, {0, 0, 0, 0, 2, 3, 3}}}) {
    TestModel m;
    m.input("x", {7}).floats("s", {}, {0.5});
    *m.graph()->add_initializer() = stored("zero", type, {}, std::string(1, '\0'));
    m.node("QuantizeLinear", {"x", "s", "zero"}, {"q"}).node("DequantizeLinear", {"q", "s", "zero"}, {"y"});
    m.output("q").output("y");
    const std::vector<double> got =
        outputs_of(ModelFolder().import(m), {tensor({7}, {-100, -4, -0.5, 0.2f, 1.2f, 3.5, 100})});
    EXPECT_THAT(std::vector<double>(got.begin(), got.begin() + 7), testing::ElementsAreArray(wanted)) << type;
    for (size_t i = 0; i < 7; ++i) EXPECT_EQ(got[7 + i], got[i] / 2);
  }
}

TEST(Encodings, AreNotComputedWith) {
  const auto refused = [](const char* op) {
    TestModel m;
    m.input("x", {3}, kE5M2).input("y", {3}, kE5M2).node(op, {"x", "y"}, {"z"}).output("z");
    return ModelFolder().refusal(m);
  };
  EXPECT_THAT(refused("Add"), HasSubstr("an input is FLOAT8E5M2, which models store and nothing computes with: a Cast "
                                        "makes floats of it"));
  EXPECT_THAT(refused("MatMul"), HasSubstr("nothing computes with"));
  TestModel mixed;
  mixed.input("x", {3}, kE5M2).input("y", {3}, kE4M3FN).node("Concat", {"x", "y"}, {"z"}).number("axis", 0).output("z");
  EXPECT_THAT(ModelFolder().refusal(mixed), HasSubstr("inputs of FLOAT8E5M2 and of FLOAT8E4M3FN"));
  TestModel bound;
  bound.input("x", {3}, kE5M2).node("Identity", {"x"}, {"y"}).output("y");
  EXPECT_THAT(ModelFolder().refusal(bound, {.bind = {{"x", 1}}}), HasSubstr("one whole number can be bound"));
}

// When a call finds out how many codes there are, this is also known of tensors that are moved.
TEST(Encodings, OfWhichACallFindsOutHowManyThereAre) {
  TestModel m;
  m.input("x", {4, 1}, kE4M3FN).input("takes", {4}, kBool);
  m.node("Compress", {"x", "takes"}, {"some"}).number("axis", 0).node("Transpose", {"some"}, {"row"});
  m.node("Cast", {"row"}, {"y"}).number("to", kFloat).output("y");
  const ImportedModel model = ModelFolder().import(m);
  ASSERT_TRUE(model.graph.outputs[0].extent);
  const TensorData codes({u8, {4, 1}}, "\x38\xC0\x50\x55"), takes({boolean, {4}}, std::string("\1\0\1\0", 4));
  const auto got = cut_to_extents(model.graph, interpret(model.graph, {codes, takes}, &evaluate));
  EXPECT_EQ(got[0].type(), (TensorType{f32, {1, 2}}));
  EXPECT_THAT(got[0].values(), ElementsAre(1, 8));
}

}  // namespace
}  // namespace hone
