// Graphs as text: printed and read again, and refusals.
#include "compiler/graph/text.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/narrow_floats.h"
#include "tests/unit/graph/read_graph.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kGraph = R"(graph small
input "data" %data f32[2, 3]
input "nothing" none f32[0, 3]
%c = constant f32[1, 3] [0.5, -1, 0.1]
%a = elementwise(op=mul,shape=2x3,x=same,operands=1x3,dtype=f32) %data %c   # Mul_0
%s = reduce(op=sum,shape=2x3,axes=1,keepdims=0,dtype=f32) %a
output "y" %a f32[2, 3]
output "sums" %s f32[2, 1]
output "nothing" none f32[0, 3]
)";

TEST(GraphText, IsReadAsItWasPrinted) {
  const Graph g = read_graph(kGraph);
  verify(g);
  EXPECT_EQ(to_string(read_graph(to_string(g))), to_string(g));
  EXPECT_EQ(g.name, "small");
  EXPECT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.nodes[0].origin, "Mul_0");
  EXPECT_EQ(g.inputs[1].value, kNoValue);
  // Attributes that say nothing are left out; all else is as it was.
  EXPECT_EQ(to_string(read_graph(to_string(g))).find("hash"), std::string::npos);
}

TEST(GraphText, EmptyLinesAndCommentsSayNothing) {
  EXPECT_EQ(to_string(read_graph("# a graph\n\n  graph g\n\n   # nothing\ninput \"x\" %x f32[2] # really\n")),
            "graph g\ninput \"x\" %x f32[2]\n");
  EXPECT_EQ(to_string(read_graph("graph g")), "graph g\n");
}

TEST(GraphText, NamesMayHoldAnything) {
  Graph g;
  g.name = "a\nb\\c \x01\"";
  g.values.push_back({"x", {f32, {2}}, std::nullopt});
  g.inputs.push_back({"say \"x\"\n\\n\t", 0, {f32, {2}}});
  g.outputs.push_back({"", 0, {f32, {2}}});
  const std::string text = to_string(g);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  const Graph read = read_graph(text);
  EXPECT_EQ(read.name, g.name);
  EXPECT_EQ(read.inputs[0].name, g.inputs[0].name);
  EXPECT_EQ(to_string(read), text);
}

template <class T>
TensorData data_of(DType t, const std::vector<T>& values) {
  return {{t, {static_cast<int64_t>(values.size())}},
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T))};
}

// Bytes of a constant after it was printed and read.
void expect_same_elements(const TensorData& data) {
  Graph g;
  g.name = "g";
  g.values.push_back({"c", data.type(), data});
  g.outputs.push_back({"y", 0, data.type()});
  const std::string text = to_string(g, data.elements());
  const Graph read = read_graph(text);
  const TensorData& now = *read.values.at(0).constant;
  ASSERT_EQ(now.type(), data.type());
  ASSERT_EQ(now.bytes().size(), data.bytes().size());
  for (size_t i = 0; i < data.bytes().size(); ++i) ASSERT_EQ(now.bytes()[i], data.bytes()[i]) << i << " of " << text;
  EXPECT_EQ(to_string(read, data.elements()), text);
}

TEST(GraphText, EveryFloatOfSixteenBitsIsExact) {
  std::vector<uint16_t> bits(1 << 16);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  expect_same_elements(data_of(f16, bits));
  expect_same_elements(data_of(bf16, bits));
}

TEST(GraphText, NumbersAreExact) {
  using F = std::numeric_limits<float>;
  using D = std::numeric_limits<double>;
  expect_same_elements(data_of<float>(f32, {0.1f, -0.0f, F::max(), F::min(), F::denorm_min(), F::infinity(),
                                            -F::infinity(), F::quiet_NaN(), -F::quiet_NaN(), F::signaling_NaN()}));
  expect_same_elements(data_of<double>(f64, {0.1, 1e308, D::denorm_min(), -D::infinity(), D::quiet_NaN(), 1.0 / 3}));
  expect_same_elements(data_of<int64_t>(i64, {INT64_MIN, INT64_MAX, 0, -1}));
  expect_same_elements(data_of<uint64_t>(u64, {0, UINT64_MAX}));
  expect_same_elements(data_of<int8_t>(i8, {-128, 127}));
  expect_same_elements(data_of<uint8_t>(u8, {0, 255}));
  expect_same_elements(data_of<int16_t>(i16, {INT16_MIN, INT16_MAX}));
  expect_same_elements(data_of<uint32_t>(u32, {0, UINT32_MAX}));
  expect_same_elements(data_of<uint8_t>(boolean, {0, 1}));
}

TEST(GraphText, FloatsAreShort) {
  const Graph g = read_graph(
      "graph g\n%a = constant f32[2] [0.1, 1e20]\n%b = constant f16[2] [0.1, 65504]\n%c = constant bf16[2] [0.1, -3]\n"
      "output \"a\" %a f32[2]\noutput \"b\" %b f16[2]\noutput \"c\" %c bf16[2]\n");
  EXPECT_THAT(to_string(g), HasSubstr("%a = constant f32[2] [0.1, 1e+20]\n"));
  EXPECT_THAT(to_string(g), HasSubstr("%b = constant f16[2] [0.1, 65504]\n"));
  EXPECT_THAT(to_string(g), HasSubstr("%c = constant bf16[2] [0.1, -3]\n"));
}

TEST(GraphText, FillsAreTheSameEveryTime) {
  const auto filled = [](const std::string& type, const std::string& seed) {
    return *read_graph("graph g\n%a = constant " + type + " fill " + seed + "\n").values[0].constant;
  };
  EXPECT_EQ(filled("f32[4]", "7").values(), filled("f32[4]", "7").values());
  EXPECT_NE(filled("f32[4]", "7").values(), filled("f32[4]", "8").values());
  for (const char* type : {"f16[64]", "bf16[64]", "f32[64]", "f64[64]", "s8[64]", "u8[64]", "s64[64]", "bool[64]"})
    for (const double v : filled(type, "18446744073709551615").values()) EXPECT_LE(std::abs(v), 8) << type;
}

struct Refused {
  const char* text;
  const char* what;
};

TEST(GraphText, WhatIsRefused) {
  const Refused cases[] = {
      {"", "0:1: the graph is missing: the first line is `graph NAME`"},
      {"input \"x\" %x f32[1]", "1:1: 'input \"x\" %x f32[1]' is not `graph`, which begins the first line"},
      {"graph g\nx", "2:1: 'x' is none of `input`, `output`, `definition` and a value, %NAME = …"},
      {"graph g\\q", "1:8: after \\ there is one of"},
      {"graph g\ninput \"x %x f32[1]", "2:19: the line's end is not `\"`, which ends the port's name"},
      {"graph g\ninput \"x\" x f32[1]", "2:11: 'x f32[1]' is not a value: they are called %NAME"},
      {"graph g\ninput \"x\" % f32[1]", "2:12: after % there is a name"},
      {"graph g\ninput \"x\" %x f31[1]", "2:14: 'f31[1]' is not a type"},
      {"graph g\ninput \"x\" %x f32[-1]", "2:18: an extent is a whole number, not '-1]'"},
      {"graph g\ninput \"x\" %x f32[9223372036854775808]", "2:37: an extent is a whole number"},
      {"graph g\ninput \"x\" %x f32[9223372036854775807]", "has more than 2^48 elements"},
      {"graph g\ninput \"x\" %x f32[4294967296, 4294967296, 4294967296]", "has more than 2^48 elements"},
      {"graph g\ninput \"x\" %x f32[0]", "a port has `none` for its value where it has no elements"},
      {"graph g\ninput \"x\" none f32[1]", "a port has `none` for its value where it has no elements"},
      {"graph g\ninput \"x\" %x f32[1] more", "nothing follows the type of a port"},
      {"graph g\ninput \"x\" %x f32[1]\ninput \"y\" %x f32[1]", "3:11: there is a %x already"},
      {"graph g\noutput \"y\" %y f32[1]", "2:12: %y is not there yet: values are computed before they are read"},
      {"graph g\ninput \"x\" %x f32[1]\noutput \"y\" %x f32[2]", "3:21: %x is f32[1], not f32[2]"},
      {"graph g\n%c = constant f32[2] [1]", "f32[2] has 2 elements, not 1"},
      {"graph g\n%c = constant f32[2] [1, 2, 3]", "f32[2] has 2 elements, not 3"},
      {"graph g\n%c = constant f32[2] [1, x]", "2:26: 'x]' is no number of type f32"},
      {"graph g\n%c = constant f32[1] [1e999]", "is no number of type f32"},
      {"graph g\n%c = constant s8[1] [128]", "is no number of type s8"},
      {"graph g\n%c = constant u8[1] [0x100]", "is no number of type u8"},
      {"graph g\n%c = constant u8[1] [-1]", "is no number of type u8"},
      {"graph g\n%c = constant bool[1] [2]", "is no number of type bool"},
      {"graph g\n%c = constant f32[] [1]", "a constant is of rank 1 at least, with elements"},
      {"graph g\n%c = constant f32[0] []", "a constant is of rank 1 at least, with elements"},
      {"graph g\n%c = constant f32[1000000000] fill 1", "constants have at most 64 MiB together"},
      {"graph g\n%c = constant f32[1] fill x", "behind `fill` there is a whole number"},
      {"graph g\n%c = constant f32[100] hash 0123", "a hash does not say the elements"},
      {"graph g\n%c, %d = constant f32[1] [1]", "a constant is one value"},
      {"graph g\n%c = constant f32[1] [1]\n%c = constant f32[1] [2]", "3:1: there is a %c already"},
      {"graph g\n%y = what", "2:6: 'what' is neither a constant nor an operator(attributes)"},
      {"graph g\n%y = what()", "2:6: unknown task 'what'; known: conv2d"},
      {"graph g\ninput \"x\" %x f32[4]\n%y = transpose(shape=4,axes=1) %x", "3:6: transpose: unknown attribute 'axes'"},
      {"graph g\ninput \"x\" %x f32[4]\n%y = reshape(shape=4,to=3) %x", "3:6: "},
      {"graph g\ninput \"x\" %x f32[4]\n%y = reshape(shape=4,to=4) %y", "3:28: %y is not there yet"},
      {"graph g\ninput \"x\" %x f32[4]\n%y = reshape(shape=5,to=5) %x",
       "3:1: reshape(shape=5,to=5,dtype=f32): input 0, %x, is f32[4], not f32[5]"},
      {"graph g\ninput \"x\" %x f32[4]\n%y = reshape(shape=4,to=4) %x %x", "takes 1 inputs and gives 1 outputs, not 2"},
      {"graph g\ninput \"x\" %x f32[4]\n%y, %z = reshape(shape=4,to=4) %x", "reshape gives 1 outputs, not 2"},
      {"graph g\ninput \"x\" %x f32[4]\n%x = reshape(shape=4,to=4) %x", "3:1: there is a %x already"},
      {"graph g\n%a = elementwise(op=relu,shape=2) %b\n%b = elementwise(op=relu,shape=2) %a", "2:35: %b is not there"},
  };
  for (const Refused& c : cases) EXPECT_THAT(refusal_of([&] { read_graph(c.text); }), HasSubstr(c.what)) << c.text;
}

TEST(GraphText, ManyLinesAndConstantsAreRefused) {
  EXPECT_THAT(refusal_of([] { read_graph(std::string((1 << 18) + 1, '\n')); }), HasSubstr("at most 2^18 lines"));
  std::string text = "graph g\n";
  for (int i = 0; i < 5; ++i) text += "%c" + std::to_string(i) + " = constant f32[4194304] fill 1\n";
  EXPECT_THAT(refusal_of([&] { read_graph(text); }), HasSubstr("6:28: constants have at most 64 MiB together"));
}

}  // namespace
}  // namespace hone
