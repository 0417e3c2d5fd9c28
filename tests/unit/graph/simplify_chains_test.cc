// Functions as exporters spell them, and divisions by numbers.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string one_chain(const std::string& type, const std::string& op, const std::string& result) {
  return "input \"x\" %x " + type + "[3, 11]\n%y = elementwise(op=" + op + ",shape=3x11,operands=none,dtype=" + type +
         ") %x\noutput \"y\" %y " + result + "[3, 11]\n";
}
// The functions that the pass makes of `op`; they compute the same, but for roundings.
std::string simplified(const std::string& op, const std::string& type = "f32", const std::string& result = "f32") {
  const Graph g = read_graph("graph g\n" + one_chain(type, op, result)), made = simplify_chains(g, test_context());
  expect_same_values(g, made, type == "f64" ? 1e-12 : 1e-5);
  return made.nodes[0].workload.attributes.text("op");
}

TEST(SimplifyChains, SpelledFunctionsGetTheirNames) {
  const std::pair<const char*, const char*> spellings[] = {
      {"x=s+sigmoid+mul[s]", "silu"},
      {"x=s+softplus+tanh+mul[s]", "mish"},
      {"x=s+hard_sigmoid+mul[s]", "hard_swish"},
      {"x=s+add[3]+maximum[0]+minimum[6]+mul[s]+mul[0.16666667]", "hard_swish"},
      {"x=s+add[3]+maximum[0]+minimum[6]+mul[s]+div[6]", "hard_swish"},
      {"x=s+add[3]+maximum[0]+minimum[6]+div[6]+mul[s]", "hard_swish"},
      {"x=s+add[3]+relu6+mul[s]+div[6]", "hard_swish"},
      {"x=s+div[1.4142135]+erf+add[1.0]+mul[s]+mul[0.5]", "gelu"},
      {"x=s+div[1.4142135]+erf+add[1.0]+mul[0.5]+mul[s]", "gelu"},
      {"x=s+mul[0.70710677]+erf+mul[0.5]+add[0.5]+mul[s]", "gelu"},
      {"x=s+pow[3]+mul[0.044715]+add[s]+mul[0.7978846]+tanh+add[1.0]+mul[s]+mul[0.5]", "gelu_tanh"},
      {"x=s+pow[3]+mul[0.044715]+add[s]+mul[0.7978846]+tanh+add[1.0]+mul[0.5]+mul[s]", "gelu_tanh"},
      {"x=s+mul[0.044715]+mul[s]+mul[s]+add[s]+mul[0.7978846]+tanh+add[1.0]+mul[0.5]+mul[s]", "gelu_tanh"},
      {"x=s+mul[0.044715]+mul[s]+mul[s]+add[s]+mul[0.7978846]+tanh+add[1.0]+mul[s]+mul[0.5]", "gelu_tanh"}};
  for (const auto& [spelling, function] : spellings) EXPECT_EQ(simplified(spelling), function) << spelling;
}

TEST(SimplifyChains, AmongOtherLinks) {
  EXPECT_EQ(simplified("x=s+mul[1.0]+sigmoid+mul[s]"), "silu");
  EXPECT_EQ(simplified("mul[2]+x=s+sigmoid+mul[s]+add[3]+x=t+sigmoid+mul[t]"), "mul[2]+silu+add[3]+silu");
  EXPECT_EQ(simplified("exp+x=s+relu+x=t+sigmoid+mul[t]+add[s]"), "exp+x=s+relu+silu+add[s]");
  EXPECT_EQ(simplified("x=s+sigmoid+mul[s]+x=t+exp+mul[t]"), "silu+x=s+exp+mul[s]");
  EXPECT_EQ(
      simplified("cast:s32+add[1.0]:f32+x=s+div[1.4142135]+erf+add[1.0]+mul[s]+mul[0.5]+round+saturate:u8+cast:f32"),
      "cast:s32+add[1.0]:f32+gelu+round+saturate:u8+cast:f32");
}

// The value is used later on, another one is used, a number is another, a type is rounded to on the way, links miss.
TEST(SimplifyChains, OtherFunctionsStay) {
  for (const char* op :
       {"x=s+sigmoid+mul[s]+add[s]", "x=s+exp+x=t+sigmoid+mul[s]+mul[t]",
        "x=s+add[3]+maximum[0]+minimum[6]+mul[s]+mul[0.17]", "x=s+add[3]+maximum[0]+minimum[6]+mul[s]+mul[0.16667]",
        "x=s+sigmoid:f16+mul[s]:f32", "x=s+sigmoid+add[s]", "x=s+tanh+mul[s]",
        "x=s+add[3]+maximum[0]+minimum[6]+mul[s]", "x=s+hard_sigmoid[0.2;0.5]+mul[s]"})
    EXPECT_EQ(simplified(op), op);
}

// An exporter's digits of f32 would be another function in f64; without numbers the names hold there, too. 16 bits are
// rounded once.
TEST(SimplifyChains, OtherTypesHaveOtherDigits) {
  const char* const of_numbers = "x=s+add[3]+maximum[0]+minimum[6]+mul[s]+mul[0.16666667]";
  EXPECT_EQ(simplified(of_numbers, "f64", "f64"), of_numbers);
  EXPECT_EQ(simplified("x=s+sigmoid+mul[s]", "f64", "f64"), "silu");
  for (const char* type : {"f16", "bf16"})
    EXPECT_EQ(simplified("x=s+sigmoid+mul[s]", type, type), "x=s+sigmoid+mul[s]");
  EXPECT_EQ(simplified("cast:f16+x=s+sigmoid+mul[s]+exp:f32"), "cast:f16+x=s+sigmoid+mul[s]+exp:f32");
}

TEST(SimplifyChains, DivisionsByNumbersAreProducts) {
  EXPECT_EQ(simplified("div[8]+relu"), "mul[0.125]+relu");
  EXPECT_EQ(simplified("div[3]"), "mul[0.33333334]");
  EXPECT_EQ(simplified("div[-7]+tanh"), "mul[-0.14285715]+tanh");
  EXPECT_EQ(simplified("div[3]", "f64", "f64"), "mul[0.3333333333333333]");
  EXPECT_EQ(simplified("cast:f32+div[3]", "u8"), "cast:f32+mul[0.33333334]");
  EXPECT_EQ(simplified("div[1.0]+exp+mul[1.0]"), "exp");
}

// Numbers without an inverse in floats, results that become whole or are rounded, whole numbers; and a node that does
// nothing is no node of this operator.
TEST(SimplifyChains, OtherDivisionsStay) {
  const Graph by_zero = read_graph("graph g\n" + one_chain("f32", "div[0]", "f32"));
  EXPECT_EQ(to_string(simplify_chains(by_zero, test_context())), to_string(by_zero));
  for (const auto& [type, op] : std::vector<std::pair<std::string, std::string>>{{"f32", "div[1e+38]"},
                                                                                 {"f32", "div[1e-38]"},
                                                                                 {"f16", "div[3]"},
                                                                                 {"bf16", "div[3]"},
                                                                                 {"f32", "cast:f16+div[3]+relu:f32"},
                                                                                 {"s32", "div[3]"},
                                                                                 {"f32", "rdiv[3]"},
                                                                                 {"f32", "add[9]+div[3]:s32+cast:f32"},
                                                                                 {"f32", "mul[1.0]"},
                                                                                 {"f32", "div[1.0]"}})
    EXPECT_EQ(simplified(op, type, type), op) << type;
}

// 21 / 7 is 3, and 21 * 0.14285715 is more.
TEST(SimplifyChains, DivisionsInFrontOfStepsStay) {
  for (const char* op : {"div[7]+ceil", "div[7]+add[2]+floor", "div[7]+round+mul[2]", "div[7]+saturate:u8+cast:f32",
                         "div[7]+sign", "div[7]:s32+cast:f32"})
    EXPECT_THAT(simplified(op), HasSubstr("div[7]")) << op;
  for (const char* op : {"div[7]+log+floor", "div[7]+silu+ceil", "div[7]+square+floor", "div[7]+sub[1.0]+tanh+ceil",
                         "div[7]+x=s+tanh+maximum[s]+floor", "div[7]+add[3]+exp+minimum[20]+floor"})
    EXPECT_EQ(after(&simplify_chains, one_chain("f32", op, "f32")),
              lines_of(read_graph("graph g\n" + one_chain("f32", op, "f32"))));
  for (const char* op : {"div[7]+tanh+mul[5]+ceil", "x=s+div[7]+erf+mul[s]+round", "div[7]+neg+mul[3]+sigmoid+round"})
    EXPECT_THAT(simplified(op), HasSubstr("mul[0.14285715]")) << op;
  EXPECT_EQ(simplified("div[8]+ceil"), "mul[0.125]+ceil") << "exact";
  EXPECT_EQ(simplified("div[-0.25]+ceil"), "mul[-4]+ceil") << "exact";
}

// A step may be another node, behind nodes that move the quotient.
TEST(SimplifyChains, DivisionsInFrontOfStepsOfOtherNodesStay) {
  const auto behind = [](const std::string& moved, const std::string& reader, const std::string& result = "f32[2, 4]") {
    return after(&simplify_chains,
                 "input \"x\" %x f32[2, 4]\n%y = elementwise(op=div[7],shape=2x4,operands=none) %x\n" + moved +
                     "%z = " + reader + "\noutput \"z\" %z " + result + "\n");
  };
  const std::string floor = "elementwise(op=floor,shape=2x4) ", tanh = "elementwise(op=tanh,shape=2x4) ";
  EXPECT_THAT(behind("", floor + "%y"), HasSubstr("div[7]"));
  EXPECT_THAT(behind("", tanh + "%y"), HasSubstr("mul[0.14285715]"));
  const std::string moves[] = {
      "%r = reshape(shape=2x4,to=4x2) %y\n%m = transpose(shape=4x2) %r\n",
      "%s = slice(shape=2x4,begin=0:0,step=1:1,size=1x4) %y\n%m = broadcast(shape=1x4,to=2x4) %s\n",
      "%s = slice(shape=2x4,begin=0:0,step=1:1,size=2x2) %y\n%m = concat(shapes=2x2:2x2,axis=1) %s %s\n",
      "%s = slice(shape=2x4,begin=0:0,step=1:1,size=1x4) %y\n%m = pad(shape=1x4,before=1:0,after=0:0) %s\n"};
  for (const std::string& moved : moves) {
    EXPECT_THAT(behind(moved, floor + "%m"), HasSubstr("div[7]")) << moved;
    EXPECT_THAT(behind(moved, tanh + "%m"), HasSubstr("mul[0.14285715]")) << moved;
  }
  EXPECT_THAT(behind("", "reduce(op=max,shape=2x4,axes=1) %y", "f32[2]"), HasSubstr("mul[0.14285715]"));
}

}  // namespace
}  // namespace hone
