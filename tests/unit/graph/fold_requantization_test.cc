// Steps of bytes in the factors of sums of bytes, and functions from byte to byte as bounds.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

// A product of bytes with this epilogue: %s and %t are constants of the channels, %v and %z inputs, one for each
// channel and one for each element.
std::string sum_of_bytes(const std::string& epilogue, const std::string& operands, const std::string& type) {
  return "graph g\ninput \"x\" %x u8[3, 4]\ninput \"v\" %v f32[1, 2]\ninput \"z\" %z f32[3, 2]\n"
         "%w = constant s8[2, 4] [1, -2, 3, 4, 5, 6, -127, 8]\n"
         "%s = constant f32[2] [2, 0.25]\n%t = constant f32[2] [0.3, -0.4]\n"
         "%y = dense(m=3,n=2,k=4,dtype=u8:s8:s32:s32,epilogue=" +
         epilogue + ") %x %w" + operands + "\noutput \"y\" %y " + type + "[3, 2]\n";
}
// The epilogue that the pass makes of it; a rounding may be the other one.
std::string requantized(const std::string& epilogue, const std::string& operands = "", const std::string& type = "u8") {
  const Graph g = read_graph(sum_of_bytes(epilogue, operands, type)), made = fold_requantization(g, test_context());
  expect_same_values(g, made, 1);
  return made.nodes[0].workload.attributes.text("epilogue");
}

TEST(FoldRequantization, StepsGoIntoTheFactors) {
  EXPECT_EQ(requantized("cast:f32+mul[c]+add[c]+div[0.5]+round+add[7]+saturate:u8", " %s %t"),
            "cast:f32+mul[c]+bias+round+add[7]+saturate:u8");
  EXPECT_EQ(requantized("cast:f32+mul[0.25]+minimum[6]+div[0.5]+round+saturate:s8", "", "s8"),
            "cast:f32+mul[0.5]+minimum[12]+round+saturate:s8");
  EXPECT_EQ(requantized("cast:f32+mul[0.25]+maximum[-3]+sub[9]+div[0.5]+round+saturate:s8", "", "s8"),
            "cast:f32+mul[0.5]+maximum[-6]+sub[18]+round+saturate:s8");
  // Next to the factor a step may be negative.
  EXPECT_EQ(requantized("cast:f32+relu+mul[0.25]+div[-0.5]+round+saturate:s8", "", "s8"),
            "cast:f32+relu+mul[-0.5]+round+saturate:s8");
}

TEST(FoldRequantization, FactorsAreConstantsThatAreScaled) {
  const Graph g = read_graph(sum_of_bytes("cast:f32+mul[c]+add[c]+div[0.5]+round+saturate:s8", " %s %t", "s8"));
  EXPECT_THAT(to_string(fold_requantization(g, test_context())),
              testing::AllOf(HasSubstr("%s_scaled = constant f32[2] [4, 0.5]"),
                             HasSubstr("%t_scaled = constant f32[2] [0.6, -0.8]")));
}

// A factor that only a call knows, something that does not commute with the step, a negative step in front of a bound:
// the step stays apart, as a product by the reciprocal.
TEST(FoldRequantization, OtherStepsAreFactorsOfTheirOwn) {
  EXPECT_EQ(requantized("cast:f32+mul[1x2]+div[0.5]+round+saturate:u8", " %v"),
            "cast:f32+mul[1x2]+mul[2]+round+saturate:u8");
  EXPECT_EQ(requantized("cast:f32+mul[c]+add+div[0.5]+round+saturate:u8", " %s %z"),
            "cast:f32+mul[c]+add+mul[2]+round+saturate:u8");
  EXPECT_EQ(requantized("cast:f32+mul[c]+tanh+div[0.5]+round+saturate:u8", " %s"),
            "cast:f32+mul[c]+tanh+mul[2]+round+saturate:u8");
  EXPECT_EQ(requantized("cast:f32+mul[c]+minimum+div[0.5]+round+saturate:u8", " %s %z"),
            "cast:f32+mul[c]+minimum+mul[2]+round+saturate:u8");
  EXPECT_EQ(requantized("cast:f32+mul[c]+relu+div[-0.5]+round+saturate:s8", " %s", "s8"),
            "cast:f32+mul[c]+relu+mul[-2]+round+saturate:s8");
  EXPECT_EQ(requantized("cast:f32+div[0.5]+round+saturate:u8"), "cast:f32+mul[2]+round+saturate:u8") << "no factor";
  EXPECT_EQ(requantized("cast:f32+mul[0.5]+sub[9]:f16+cast:f32+div[0.5]+round+saturate:u8"),
            "cast:f32+mul[0.5]+sub[9]:f16+cast:f32+mul[2]+round+saturate:u8")
      << "rounded on the way";
}

// f32 does not hold the new number.
TEST(FoldRequantization, FactorsThatOverflowStay) {
  EXPECT_EQ(requantized("cast:f32+mul[1e+38]+minimum[0.125]+div[0.0625]+round+saturate:u8"),
            "cast:f32+mul[1e+38]+minimum[0.125]+mul[16]+round+saturate:u8");
  std::string text = sum_of_bytes("cast:f32+mul[c]+minimum[0.125]+div[0.0625]+round+saturate:u8", " %s", "u8");
  text.replace(text.find("0.25"), 4, "1e+38");
  EXPECT_THAT(to_string(fold_requantization(read_graph(text), test_context())),
              HasSubstr("cast:f32+mul[c]+minimum[0.125]+mul[16]+round+saturate:u8"));
}

// The quotient is not rounded to a whole number, the step's inverse is no f32, or a name stands for a value.
TEST(FoldRequantization, OtherDivisionsStay) {
  for (const char* epilogue :
       {"cast:f32+mul[0.25]+div[3]+saturate:u8", "cast:f32+mul[0.25]+div[3]+add[0.5]+round+saturate:u8",
        "cast:f32+mul[0.25]+div[1e+38]+round+saturate:u8", "cast:f32+mul[0.25]+rdiv[3]+round+saturate:u8",
        "cast:f32+mul[0.25]+div[3]:f16+round+saturate:u8", "cast:f32+x=s+mul[0.25]+div[3]+round+add[s]+saturate:u8"})
    EXPECT_EQ(requantized(epilogue), epilogue);
}

// In a product of floats the factor is no scale of bytes: quotients stay as they are written.
TEST(FoldRequantization, ProductsOfFloatsStay) {
  expect_unchanged(&fold_requantization, R"(
input "x" %x f32[3, 4]
%w = constant f32[2, 4] fill 1
%y = dense(m=3,n=2,k=4,dtype=f32,epilogue=mul[0.25]+div[3]+round+saturate:u8) %x %w
output "y" %y u8[3, 2]
)");
}

TEST(FoldRequantization, BoundsThatTheSaturationHasGo) {
  EXPECT_EQ(requantized("cast:f32+mul[c]+relu+minimum[200]+div[0.5]+round+saturate:u8", " %s"),
            "cast:f32+mul[c]+round+saturate:u8");
  EXPECT_EQ(requantized("cast:f32+mul[c]+maximum[0]+minimum[127.5]+div[0.5]+round+saturate:u8", " %s"),
            "cast:f32+mul[c]+round+saturate:u8");
  EXPECT_EQ(requantized("cast:f32+mul[c]+minimum[64]+div[0.5]+round+saturate:s8", " %s", "s8"),
            "cast:f32+mul[c]+round+saturate:s8");
}

// They are tighter than the byte's, the byte may be negative, or a zero point is added behind them.
TEST(FoldRequantization, OtherBoundsStay) {
  EXPECT_EQ(requantized("cast:f32+mul[c]+minimum[127]+div[0.5]+round+saturate:u8", " %s"),
            "cast:f32+mul[c]+minimum[254]+round+saturate:u8");
  EXPECT_EQ(requantized("cast:f32+mul[c]+maximum[1.0]+div[0.5]+round+saturate:u8", " %s"),
            "cast:f32+mul[c]+maximum[2]+round+saturate:u8");
  EXPECT_EQ(requantized("cast:f32+mul[c]+relu+div[0.5]+round+saturate:s8", " %s", "s8"),
            "cast:f32+mul[c]+relu+round+saturate:s8");
  EXPECT_EQ(requantized("cast:f32+mul[c]+minimum[63]+div[0.5]+round+saturate:s8", " %s", "s8"),
            "cast:f32+mul[c]+minimum[126]+round+saturate:s8");
  EXPECT_EQ(requantized("cast:f32+mul[c]+relu+div[0.5]+round+add[7]+saturate:u8", " %s"),
            "cast:f32+mul[c]+relu+round+add[7]+saturate:u8");
}

TEST(FoldRequantization, FunctionsFromByteToByteAreBoundsOrNothing) {
  const std::string front = "cast:f32+mul[c]+round+add[100]+saturate:u8";
  const auto behind = [&](const std::string& more) { return requantized(front + more, " %s"); };
  EXPECT_EQ(behind("+cast:f32+sub[100]+mul[0.03]+div[0.03]+round+add[100]+saturate:u8"), front);
  EXPECT_EQ(behind("+cast:f32+sub[100]+mul[0.03]+maximum[0]+minimum[3]+div[0.03]+round+add[100]+saturate:u8"),
            front + "+maximum[100]+minimum[200]");
  EXPECT_EQ(behind("+cast:f32+mul[0]+add[9]+round+saturate:u8"), front + "+maximum[9]+minimum[9]") << "a constant";
  // One after the other.
  EXPECT_EQ(requantized("cast:f32+saturate:u8+cast:f32+mul[0.5]+div[0.5]+saturate:u8+maximum[3]:f32+relu+saturate:u8"),
            "cast:f32+saturate:u8+maximum[3]");
}

// Other steps, the other type of bytes, an operand, an order that is turned round, and bounds that are as short.
TEST(FoldRequantization, OtherFunctionsFromByteToByteStay) {
  const std::string front = "cast:f32+mul[c]+round+add[100]+saturate:u8";
  const auto stays = [&](const std::string& more, const std::string& operands = "", const std::string& type = "u8") {
    EXPECT_EQ(requantized(front + more, " %s" + operands, type), front + more);
  };
  stays("+cast:f32+sub[100]+mul[0.03]+mul[25]+round+add[100]+saturate:u8");
  stays("+cast:f32+sub[128]+round+saturate:s8", "", "s8");
  stays("+cast:f32+mul+round+saturate:u8", " %z");
  stays("+cast:f32+rsub[255]+round+saturate:u8");
  stays("+cast:f32+mul[2]+round+saturate:u8");
}

TEST(FoldRequantization, NodesOfBytesToo) {
  expect_becomes(&fold_requantization, R"(
input "x" %x u8[3, 7]
%y = elementwise(op=cast:f32+mul[0.1]+relu+div[0.1]+round+saturate:u8,shape=3x7,operands=none,dtype=u8) %x
%z = elementwise(op=cast:f32,shape=3x7,operands=none,dtype=u8) %y
output "z" %z f32[3, 7]
)",
                 "%z = elementwise(op=cast:f32,shape=3x7,operands=none,dtype=u8) %x\noutput \"z\" %z f32[3, 7]\n");
  expect_becomes(&fold_requantization, R"(
input "x" %x s8[3, 7]
%y = elementwise(op=cast:f32+mul[0.1]+relu+div[0.1]+round+saturate:s8,shape=3x7,operands=none,dtype=s8) %x
output "y" %y s8[3, 7]
)",
                 "%y = elementwise(op=maximum[0],shape=3x7,operands=none,dtype=s8) %x\noutput \"y\" %y s8[3, 7]\n");
}

// An output needs a node that gives it; others broadcast, have an operand, or give another type; and a bound that is
// one already is no shorter.
TEST(FoldRequantization, OtherNodesStay) {
  const std::string nothing = "op=cast:f32+mul[0.1]+div[0.1]+round+saturate:u8";
  expect_unchanged(&fold_requantization, R"(
input "x" %x u8[3, 7]
%y = elementwise()" + nothing + R"(,shape=3x7,operands=none,dtype=u8) %x
output "y" %y u8[3, 7]
)");
  expect_unchanged(&fold_requantization, R"(
input "x" %x u8[1, 7]
%y = elementwise()" + nothing + R"(,shape=3x7,operands=none,dtype=u8,x=1x7) %x
%z = elementwise(op=cast:f32,shape=3x7,operands=none,dtype=u8) %y
output "z" %z f32[3, 7]
)");
  expect_unchanged(&fold_requantization, R"(
input "x" %x u8[3, 7]
input "z" %z f32[3, 7]
%y = elementwise(op=cast:f32+mul+div[0.1]+round+saturate:u8,shape=3x7,operands=same,dtype=u8) %x %z
%a = elementwise(op=cast:f32+mul[0.1]+div[0.1]+round+saturate:s8,shape=3x7,operands=none,dtype=u8) %y
%b = elementwise(op=maximum[3],shape=3x7,operands=none,dtype=s8) %a
output "b" %b s8[3, 7]
)");
}

}  // namespace
}  // namespace hone
