// Elementwise nodes behind each other become one.
#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

TEST(FuseElementwise, AChain) {
  expect_becomes(
      &fuse_elementwise, R"(
input "x" %x f32[3, 5]
input "z" %z f32[1, 5]
%a = elementwise(op=mul,shape=3x5,operands=1x5) %x %z   # first
%b = elementwise(op=relu,shape=3x5) %a   # second
%c = elementwise(op=add,shape=3x5,operands=same) %b %x   # third
output "c" %c f32[3, 5]
)",
      R"(%c = elementwise(op=x=s+mul+relu+add[s],shape=3x5,operands=1x5,dtype=f32) %x %z   # first + second + third
output "c" %c f32[3, 5]
)");
}

TEST(FuseElementwise, ThroughOtherTypes) {
  expect_becomes(&fuse_elementwise, R"(
input "x" %x u8[7, 1, 3]
input "z" %z f64[1, 1, 3]
%a = elementwise(op=cast:s32,shape=7x1x3,dtype=u8) %x
%b = elementwise(op=sub[4]:f64,shape=7x1x3,dtype=s32) %a
%c = elementwise(op=less,shape=7x1x3,operands=1x1x3,dtype=f64) %b %z
output "c" %c bool[7, 1, 3]
)",
                 R"(%c = elementwise(op=cast:s32+sub[4]:f64+less,shape=7x1x3,operands=1x1x3,dtype=u8) %x %z
output "c" %c bool[7, 1, 3]
)");
}

// x - a is a.rsub(x), x < a is a.greater(x).
TEST(FuseElementwise, TheSecondOperandIsExchanged) {
  const auto of_second = [](const std::string& function, const std::string& exchanged, const std::string& result) {
    expect_becomes(&fuse_elementwise, R"(
input "x" %x f32[7]
input "z" %z f32[7]
%a = elementwise(op=abs,shape=7) %x
%b = elementwise(op=)" + function + R"(,shape=7,operands=same) %z %a
output "b" %b )" + result + "[7]\n",
                   "%b = elementwise(op=abs+" + exchanged +
                       ",shape=7,operands=same,dtype=f32) %x %z\noutput \"b\" %b " + result + "[7]\n");
  };
  of_second("sub", "rsub", "f32");
  of_second("add", "add", "f32");
  of_second("less", "greater", "bool");
}

// There is no function that takes its operand for x; the operand of a later function has no x to change places with;
// and one that two functions read would be at one of the two places only.
TEST(FuseElementwise, OperandsThatCannotBeExchangedStay) {
  expect_unchanged(&fuse_elementwise, R"(
input "x" %x f32[7]
input "z" %z f32[7]
%a = elementwise(op=abs,shape=7) %x
%b = elementwise(op=prelu,shape=7,operands=same) %z %a
output "b" %b f32[7]
)");
  expect_unchanged(&fuse_elementwise, R"(
input "x" %x f32[7]
input "y" %y f32[7]
input "z" %z f32[7]
%a = elementwise(op=abs,shape=7) %x
%b = elementwise(op=sub+mul,shape=7,operands=same) %z %y %a
output "b" %b f32[7]
)");
  expect_unchanged(&fuse_elementwise, R"(
input "x" %x f32[7]
input "z" %z f32[7]
%a = elementwise(op=abs,shape=7) %x
%b = elementwise(op=sub+mul,shape=7,operands=same) %z %a %a
output "b" %b f32[7]
)");
}

TEST(FuseElementwise, AValueReadTwiceByOneNodeIsALabel) {
  expect_becomes(&fuse_elementwise, R"(
input "x" %x f32[7]
%a = elementwise(op=abs,shape=7) %x
%b = elementwise(op=mul,shape=7,operands=same) %a %a
output "b" %b f32[7]
)",
                 R"(%b = elementwise(op=abs+x=s+mul[s],shape=7,operands=none,dtype=f32) %x
output "b" %b f32[7]
)");
}

// Those of the second node come behind those of the first.
TEST(FuseElementwise, LabelsOfBothStayApart) {
  expect_becomes(&fuse_elementwise, R"(
input "x" %x f32[3, 5]
%a = elementwise(op=relu+x=s+exp+mul[s],shape=3x5) %x
%b = elementwise(op=neg+x=s+tanh+add[s],shape=3x5) %a
%c = elementwise(op=add+sub,shape=3x5,operands=same) %b %b %x
output "c" %c f32[3, 5]
)",
                 R"(%c = elementwise(op=x=s+relu+x=t+exp+mul[t]+neg+x=u+tanh+add[u]+x=v+add[v]+sub[s],shape=3x5,)"
                 R"(operands=none,dtype=f32) %x
output "c" %c f32[3, 5]
)");
}

// A label is a value of the whole shape: a start of one row is none, and is read once more.
TEST(FuseElementwise, ABroadcastStartIsAnOperand) {
  expect_becomes(&fuse_elementwise, R"(
input "x" %x f32[1, 5]
input "z" %z f32[3, 5]
%a = elementwise(op=add,shape=3x5,operands=same,x=1x5) %x %z
%b = elementwise(op=mul,shape=3x5,operands=1x5) %a %x
output "b" %b f32[3, 5]
)",
                 R"(%b = elementwise(op=add+mul,shape=3x5,operands=same:1x5,dtype=f32,x=1x5) %x %z %x
output "b" %b f32[3, 5]
)");
}

TEST(FuseElementwise, AStartOfAnotherTypeIsAnOperand) {
  expect_becomes(&fuse_elementwise, R"(
input "x" %x bool[3, 5]
input "z" %z f32[3, 5]
%a = elementwise(op=cast:f32,shape=3x5,dtype=bool) %x
%b = elementwise(op=where,shape=3x5,operands=same) %a %x %z
output "b" %b f32[3, 5]
)",
                 R"(%b = elementwise(op=cast:f32+where,shape=3x5,operands=same:same,dtype=bool) %x %x %z
output "b" %b f32[3, 5]
)");
}

TEST(FuseElementwise, ValuesThatOthersReadStay) {
  // Another node.
  expect_unchanged(&fuse_elementwise, R"(
input "x" %x f32[2, 3]
%a = elementwise(op=abs,shape=2x3) %x
%b = elementwise(op=relu,shape=2x3) %a
%s = reduce(op=sum,shape=2x3,axes=1) %a
output "b" %b f32[2, 3]
output "s" %s f32[2]
)");
  // The caller.
  expect_unchanged(&fuse_elementwise, R"(
input "x" %x f32[2]
%a = elementwise(op=abs,shape=2) %x
%b = elementwise(op=relu,shape=2) %a
output "a" %a f32[2]
output "b" %b f32[2]
)");
}

TEST(FuseElementwise, OtherOperatorsStay) {
  expect_unchanged(&fuse_elementwise, R"(
input "x" %x f32[2, 3]
%s = reduce(op=sum,shape=2x3,axes=1) %x
%r = elementwise(op=relu,shape=2) %s
%v = reshape(shape=2,to=1x2) %r
%y = elementwise(op=abs,shape=1x2) %v
output "y" %y f32[1, 2]
)");
}

// One result for many positions would be computed once for each.
TEST(FuseElementwise, AnotherShapeStays) {
  expect_unchanged(&fuse_elementwise, R"(
input "x" %x f32[1, 3]
input "z" %z f32[2, 3]
%a = elementwise(op=exp,shape=1x3) %x
%b = elementwise(op=add,shape=2x3,operands=1x3) %z %a
output "b" %b f32[2, 3]
)");
  expect_unchanged(&fuse_elementwise, R"(
input "x" %x f32[1, 3]
input "z" %z f32[2, 3]
%a = elementwise(op=exp,shape=1x3) %x
%b = elementwise(op=add,shape=2x3,operands=same,x=1x3) %a %z
output "b" %b f32[2, 3]
)");
}

// The broadcast has no operand of the larger shape, so a chain of both would be one row.
TEST(FuseElementwise, ABroadcastWithoutOperandStays) {
  expect_unchanged(&fuse_elementwise, R"(
input "x" %x f32[1, 3]
%a = elementwise(op=relu,shape=2x3,operands=none,dtype=f32,x=1x3) %x
%b = elementwise(op=exp,shape=2x3) %a
output "b" %b f32[2, 3]
)");
}

TEST(FuseElementwise, ValuesThatAreRoundedOnTheWayStay) {
  for (const std::string narrow : {"f16", "bf16"})
    expect_unchanged(&fuse_elementwise, R"(
input "x" %x f32[2]
%a = elementwise(op=mul[0.3]:)" + narrow + R"(,shape=2,dtype=f32) %x
%b = elementwise(op=cast:f32,shape=2,dtype=)" +
                                            narrow +
                                            R"() %a
output "b" %b f32[2]
)");
}

// A chain that begins with 16 bits is computed in f32 and rounded once.
TEST(FuseElementwise, ChainsOf16BitsRoundOnce) {
  const std::string lines = R"(
input "x" %x f16[3, 7]
input "z" %z f16[3, 1]
%a = elementwise(op=mul[0.3],shape=3x7,dtype=f16) %x
%b = elementwise(op=add,shape=3x7,operands=3x1,dtype=f16) %a %z
output "b" %b f16[3, 7]
)";
  expect_becomes(&fuse_elementwise, lines,
                 R"(%b = elementwise(op=mul[0.3]+add,shape=3x7,operands=3x1,dtype=f16) %x %z
output "b" %b f16[3, 7]
)",
                 0x1p-10);
}

// As many nodes as `count`, of this operator on the result of the one before.
size_t nodes_left_of(int count, const std::string& op, const std::string& operands) {
  std::string lines = "input \"x\" %x0 f32[3]\n";
  for (int i = 0; i < count; ++i) {
    const std::string before = " %x" + std::to_string(i);
    lines += "%x" + std::to_string(i + 1) + " = elementwise(op=" + op + ",shape=3,operands=" + operands + ")" + before +
             (operands == "none" ? "" : before) + "\n";
  }
  const Graph g = read_graph("graph g\n" + lines + "output \"y\" %x" + std::to_string(count) + " f32[3]\n");
  const Graph made = fuse_elementwise(g, test_context());
  expect_same_values(g, made);
  return made.nodes.size();
}

TEST(FuseElementwise, ChainsHaveAnEnd) {
  EXPECT_EQ(nodes_left_of(16, "tanh", "none"), 1u);
  EXPECT_EQ(nodes_left_of(20, "tanh", "none"), 2u) << "16 functions and 4";
  EXPECT_EQ(nodes_left_of(5, "mul", "same"), 1u);
  EXPECT_EQ(nodes_left_of(7, "mul", "same"), 2u) << "five names and two";
  EXPECT_EQ(nodes_left_of(10, "square", "none"), 1u);
  EXPECT_EQ(nodes_left_of(12, "square", "none"), 2u) << "a value is used 1024 times in one expression";
}

}  // namespace
}  // namespace hone
