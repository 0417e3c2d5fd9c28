// Elementwise nodes behind operators become their epilogues.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

const std::string kConvolution = R"(
input "x" %x f32[1, 4, 5, 3]
input "r" %r f32[1, 8, 5, 3]
%w = constant f32[8, 4, 3, 3] fill 1
%b = constant f32[1, 8, 1, 1] fill 2
%c = conv2d(n=1,ci=4,h=5,w=3,co=8,kh=3,kw=3,pad=1) %x %w   # Conv
)";
const std::string kProduct =
    "input \"x\" %x f32[3, 4]\ninput \"w\" %w f32[5, 4]\ninput \"z\" %z f32[3, 5]\n"
    "%d = dense(m=3,n=5,k=4) %x %w   # MatMul\n";

struct Fused {
  std::string nodes, why;
};
// The nodes that the pass makes, which compute the same, and why the node `# Last` stands alone.
Fused fused(const std::string& lines, double tolerance = 0) {
  FusionNotes notes;
  PassContext context = test_context();
  context.notes = &notes;
  const Graph g = read_graph("graph g\n" + lines), made = fuse_epilogues(g, context);
  expect_same_values(g, made, tolerance);
  return {nodes_of(made), notes.of("Last")};
}
// The pass leaves these lines, and says why.
void expect_alone(const std::string& lines, const std::string& why) {
  const Fused f = fused(lines);
  EXPECT_EQ(f.nodes, nodes_of(read_graph("graph g\n" + lines)));
  EXPECT_EQ(f.why, why);
}
// Its only node's epilogue, inputs and origin.
std::string epilogue_alone(const std::string& lines) {
  const std::string out = fused(lines).nodes;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1) << out;
  const size_t at = out.find("epilogue=");
  return at == std::string::npos ? out : out.substr(at, out.size() - at - 1);
}

TEST(FuseEpilogues, ConstantsOfTheChannelsAreABias) {
  EXPECT_EQ(epilogue_alone(kConvolution + R"(
%y = elementwise(op=add+relu,shape=1x8x5x3,operands=1x8x1x1) %c %b   # Add + Relu
output "y" %y f32[1, 8, 5, 3]
)"),
            "epilogue=bias+relu) %x %w %b_1   # Conv + Add + Relu");
}

// One number for each channel that only a call knows.
TEST(FuseEpilogues, InputsOfTheChannelsAreNoBias) {
  EXPECT_EQ(epilogue_alone("input \"s\" %s f32[1, 8, 1, 1]\n" + kConvolution + R"(
%y = elementwise(op=add,shape=1x8x5x3,operands=1x8x1x1) %c %s
output "y" %y f32[1, 8, 5, 3]
)"),
            "epilogue=add[1x8x1x1]) %x %w %s   # Conv");
}

TEST(FuseEpilogues, ValuesAreResiduals) {
  EXPECT_EQ(epilogue_alone(kConvolution + R"(
%y = elementwise(op=rsub,shape=1x8x5x3,operands=same) %r %c
output "y" %y f32[1, 8, 5, 3]
)"),
            "epilogue=sub) %x %w %r   # Conv");
}

TEST(FuseEpilogues, OneElementIsOneForAll) {
  EXPECT_EQ(fused("input \"s\" %s f32[1, 1]\n" + kProduct + R"(
%y = elementwise(op=mul,shape=3x5,operands=1x1) %d %s
output "y" %y f32[3, 5]
)")
                .nodes,
            "%s_1 = reshape(shape=1x1,to=1,dtype=f32) %s\n"
            "%y = dense(m=3,n=5,k=4,dtype=f32,epilogue=mul[1]) %x %w %s_1   # MatMul\n");
}

TEST(FuseEpilogues, TheResultMayBeItsOwnOperand) {
  EXPECT_EQ(epilogue_alone(kConvolution + R"(
%y = elementwise(op=sigmoid+mul,shape=1x8x5x3,operands=same) %c %c
output "y" %y f32[1, 8, 5, 3]
)"),
            "epilogue=x=s+sigmoid+mul[s]) %x %w   # Conv");
}

TEST(FuseEpilogues, BehindEachOther) {
  EXPECT_EQ(epilogue_alone(kConvolution + R"(
%y = elementwise(op=relu,shape=1x8x5x3) %c
%z = elementwise(op=mul[2.0],shape=1x8x5x3) %y
output "z" %z f32[1, 8, 5, 3]
)"),
            "epilogue=relu+mul[2]) %x %w   # Conv");
}

TEST(FuseEpilogues, OtherOperatorsTakeThem) {
  EXPECT_EQ(epilogue_alone(R"(
input "x" %x f64[2, 3, 5]
input "w" %w f64[2, 5, 7]
%c = constant f64[1, 1, 7] fill 1
%p = batch_matmul(b=2,m=3,n=7,k=5,dtype=f64) %x %w
%y = elementwise(op=add,shape=2x3x7,operands=1x1x7,dtype=f64) %p %c
output "y" %y f64[2, 3, 7]
)"),
            "epilogue=bias) %x %w %c_1");
  EXPECT_EQ(epilogue_alone(R"(
input "x" %x f32[3, 7]
%s = reduce(op=sum,shape=3x7,axes=1) %x
%y = elementwise(op=relu+sqrt,shape=3) %s
output "y" %y f32[3]
)"),
            "epilogue=relu+sqrt) %x");
}

TEST(FuseEpilogues, ThroughAView) {
  EXPECT_EQ(fused(R"(
input "x" %x f32[2, 3, 4]
%w = constant f32[5, 4] fill 1
%f = reshape(shape=2x3x4,to=6x4) %x
%d = dense(m=6,n=5,k=4) %f %w
%v = reshape(shape=6x5,to=2x3x5) %d
%b = constant f32[1, 1, 5] fill 2
%y = elementwise(op=add,shape=2x3x5,operands=1x1x5) %v %b
output "y" %y f32[2, 3, 5]
)")
                .nodes,
            R"(%f = reshape(shape=2x3x4,to=6x4,dtype=f32) %x
%dense = dense(m=6,n=5,k=4,dtype=f32,epilogue=bias) %f %w %b_1
%y = reshape(shape=6x5,to=2x3x5,dtype=f32) %dense
)");
}

TEST(FuseEpilogues, ThroughAViewWithOtherAxesOfOneElement) {
  const std::string nodes = fused(R"(
input "x" %x f32[1, 4, 1, 5]
%w = constant f32[8, 4, 1, 3] fill 1
%c = conv2d(n=1,ci=4,h=1,w=5,co=8,kh=1,kw=3,layout=NCHW,pad=0) %x %w
%v = reshape(shape=1x8x1x3,to=1x8x3) %c
%b = constant f32[1, 8, 1] fill 2
%y = elementwise(op=add+relu,shape=1x8x3,operands=1x8x1) %v %b
output "y" %y f32[1, 8, 3]
)")
                                .nodes;
  EXPECT_THAT(nodes, HasSubstr("epilogue=bias+relu) %x %w %b_1"));
  EXPECT_THAT(nodes, testing::Not(HasSubstr("elementwise")));
}

// As many columns as channels: a constant with a number for each column is no bias.
TEST(FuseEpilogues, ConstantsOfTheColumnsAreNoBias) {
  const std::string nodes = fused(R"(
input "x" %x f32[1, 4, 1, 8]
%w = constant f32[8, 4, 1, 1] fill 1
%c = conv2d(n=1,ci=4,h=1,w=8,co=8,kh=1,kw=1,layout=NCHW,pad=0) %x %w
%v = reshape(shape=1x8x1x8,to=1x8x8) %c
%b = constant f32[1, 1, 8] fill 2
%y = elementwise(op=add,shape=1x8x8,operands=1x1x8) %v %b
output "y" %y f32[1, 8, 8]
)")
                                .nodes;
  EXPECT_THAT(nodes, HasSubstr("epilogue=add[1x1x1x8]) %x %w %b_1"));
}

// A number for each row of the product, whose rows the view has in two axes.
TEST(FuseEpilogues, OperandsOfAxesThatAreOneInFrontOfAView) {
  const std::string nodes = fused(R"(
input "x" %x f32[6, 4]
input "w" %w f32[5, 4]
input "z" %z f32[2, 3, 1]
%d = dense(m=6,n=5,k=4) %x %w
%v = reshape(shape=6x5,to=2x3x5) %d
%y = elementwise(op=add,shape=2x3x5,operands=2x3x1) %v %z
output "y" %y f32[2, 3, 5]
)")
                                .nodes;
  EXPECT_THAT(nodes, HasSubstr("epilogue=add[6x1]"));
}

// One element for each of the middle axis, which the product's own shape does not have.
TEST(FuseEpilogues, OperandsThatAViewHidesStay) {
  expect_alone(R"(
input "x" %x f32[6, 4]
input "w" %w f32[5, 4]
input "z" %z f32[1, 3, 1]
%d = dense(m=6,n=5,k=4) %x %w
%v = reshape(shape=6x5,to=2x3x5) %d
%y = elementwise(op=add,shape=2x3x5,operands=1x3x1) %v %z   # Last
output "y" %y f32[2, 3, 5]
)",
               "its operands do not fit the dense that computes %d");
  // One for each of the last two axes is no row.
  expect_alone(R"(
input "x" %x f32[6, 4]
input "w" %w f32[5, 4]
input "z" %z f32[1, 3, 5]
%d = dense(m=6,n=5,k=4) %x %w
%v = reshape(shape=6x5,to=2x3x5) %d
%y = elementwise(op=add,shape=2x3x5,operands=1x3x5) %v %z   # Last
output "y" %y f32[2, 3, 5]
)",
               "its operands do not fit the dense that computes %d");
}

// Its result is seen with the shape of the first view; behind a second one it is no value of the operator's shape.
TEST(FuseEpilogues, OneViewIsLookedThrough) {
  const Fused f = fused(kProduct + R"(
%v = reshape(shape=3x5,to=15) %d
%y = elementwise(op=relu,shape=15) %v
%u = reshape(shape=15,to=5x3) %y
%l = elementwise(op=exp,shape=5x3) %u   # Last
output "l" %l f32[5, 3]
)");
  EXPECT_THAT(f.nodes, HasSubstr("epilogue=relu"));
  EXPECT_THAT(f.nodes, HasSubstr("elementwise(op=exp"));
  EXPECT_EQ(f.why, "dense, which computes %y, takes no epilogue");
  expect_alone(kProduct + R"(
%v = reshape(shape=3x5,to=15) %d
%u = reshape(shape=15,to=5x3) %v
%l = elementwise(op=exp,shape=5x3) %u   # Last
output "l" %l f32[5, 3]
)",
               "reshape, which computes %v, takes no epilogue");
}

TEST(FuseEpilogues, ValuesThatOthersReadStay) {
  const std::string relu = "%y = elementwise(op=relu,shape=3x5) %d   # Last\noutput \"y\" %y f32[3, 5]\n";
  expect_alone(kProduct + "%s = reduce(op=sum,shape=3x5,axes=1) %d\n" + relu + "output \"s\" %s f32[3]\n",
               "others read %d, too");
  expect_alone(kProduct + relu + "output \"d\" %d f32[3, 5]\n", "%d is an output of the model");
  const std::string behind_view =
      "%v = reshape(shape=3x5,to=15) %d\n%y = elementwise(op=relu,shape=15) %v   # Last\noutput \"y\" %y f32[15]\n";
  expect_alone(kProduct + behind_view + "output \"d\" %d f32[3, 5]\n", "%d is an output of the model");
  expect_alone(kProduct + behind_view + "output \"v\" %v f32[15]\n", "%v is an output of the model");
  expect_alone(kProduct + behind_view + "%s = reduce(op=sum,shape=3x5,axes=1) %d\noutput \"s\" %s f32[3]\n",
               "others read %d, too");
}

TEST(FuseEpilogues, OperatorsWithoutEpilogueStay) {
  expect_alone(R"(
input "x" %x f32[3, 5]
%y = elementwise(op=relu,shape=3x5) %x   # Last
output "y" %y f32[3, 5]
)",
               "no operator computes %x");
  expect_alone(R"(
input "x" %x f32[3, 5]
%v = reshape(shape=3x5,to=15) %x
%y = elementwise(op=relu,shape=15) %v   # Last
output "y" %y f32[15]
)",
               "no operator computes %x");
  expect_alone(R"(
input "x" %x f32[3, 5]
%t = transpose(shape=3x5,perm=1:0) %x
%y = elementwise(op=relu,shape=5x3) %t   # Last
output "y" %y f32[5, 3]
)",
               "transpose, which computes %t, takes no epilogue");
  expect_alone(R"(
input "x" %x f32[1, 1, 3, 3, 8]
%w = constant f32[8, 8, 1, 1] fill 1
%c = conv2d(n=1,ci=8,h=3,w=3,co=8,kh=1,kw=1,pad=0,layout=NCHW8c) %x %w
%y = elementwise(op=relu,shape=1x1x3x3x8) %c   # Last
output "y" %y f32[1, 1, 3, 3, 8]
)",
               "%c lies in blocks of channels");
}

// The reason is that of the value with the output's shape, not of another operand.
TEST(FuseEpilogues, TheReasonIsThatOfTheMainValue) {
  EXPECT_EQ(fused(R"(
input "x" %x f32[3, 5]
%s = reduce(op=sum,shape=3x5,axes=1,keepdims=1) %x
%y = elementwise(op=sub,shape=3x5,operands=3x1) %x %s   # Last
output "y" %y f32[3, 5]
)")
                .why,
            "no operator computes %x");
}

// It would be computed for each of the rows.
TEST(FuseEpilogues, ALargerShapeStays) {
  expect_alone(R"(
input "x" %x f32[1, 4]
input "w" %w f32[5, 4]
input "z" %z f32[3, 5]
%d = dense(m=1,n=5,k=4) %x %w
%y = elementwise(op=add,shape=3x5,operands=1x5) %z %d   # Last
output "y" %y f32[3, 5]
)",
               "no operator computes %z");
  expect_alone(R"(
input "x" %x f32[1, 4]
input "w" %w f32[5, 4]
input "z" %z f32[3, 5]
%d = dense(m=1,n=5,k=4) %x %w
%y = elementwise(op=add,shape=3x5,operands=same,x=1x5) %d %z   # Last
output "y" %y f32[3, 5]
)",
               "no operator computes %z");
}

TEST(FuseEpilogues, OperandsThatCannotBeExchangedStay) {
  const std::string why = "no operator computes %z";
  expect_alone(
      kProduct + "%y = elementwise(op=prelu,shape=3x5,operands=same) %z %d   # Last\noutput \"y\" %y f32[3, 5]\n", why);
  expect_alone(
      kProduct + "%y = elementwise(op=sub+mul,shape=3x5,operands=same) %z %z %d   # Last\noutput \"y\" %y f32[3, 5]\n",
      why);
  expect_alone(
      kProduct + "%y = elementwise(op=sub+mul,shape=3x5,operands=same) %z %d %d   # Last\noutput \"y\" %y f32[3, 5]\n",
      why);
}

TEST(FuseEpilogues, ValuesThatAreRoundedOnTheWayAreRounded) {
  EXPECT_EQ(fused(R"(
input "x" %x f32[3, 4]
input "w" %w f32[5, 4]
%d = dense(m=3,n=5,k=4) %x %w
%h = elementwise(op=cast:f16,shape=3x5) %d
%y = elementwise(op=cast:f32,shape=3x5,dtype=f16) %h
output "y" %y f32[3, 5]
)")
                .nodes,
            "%y = dense(m=3,n=5,k=4,dtype=f32,epilogue=cast:f16+cast:f32) %x %w\n");
}

// A product of 16 bits is rounded once, behind its epilogue.
TEST(FuseEpilogues, ProductsOf16BitsRoundOnce) {
  EXPECT_EQ(fused(R"(
input "x" %x f16[3, 4]
input "w" %w f16[5, 4]
input "z" %z f16[3, 5]
%d = dense(m=3,n=5,k=4,dtype=f16) %x %w
%y = elementwise(op=mul[0.3]+add,shape=3x5,operands=same,dtype=f16) %d %z
output "y" %y f16[3, 5]
)",
                  0x1p-9)
                .nodes,
            "%y = dense(m=3,n=5,k=4,dtype=f16:f16:f32:f16,epilogue=mul[0.3]+add) %x %w %z\n");
}

// Operands of an epilogue are of the product's type until a function names another one.
TEST(FuseEpilogues, OperandsOfAnotherType) {
  EXPECT_EQ(fused(R"(
input "x" %x f32[3, 4]
input "w" %w f32[5, 4]
input "z" %z s32[3, 5]
%d = dense(m=3,n=5,k=4) %x %w
%y = elementwise(op=mul[64]:s32+add,shape=3x5,operands=same) %d %z
output "y" %y s32[3, 5]
)")
                .nodes,
            "%y = dense(m=3,n=5,k=4,dtype=f32,epilogue=mul[64]:s32+add) %x %w %z\n");
}

TEST(FuseEpilogues, ChainsHaveAnEnd) {
  std::string lines = kProduct, last = "d";
  for (int i = 0; i < 20; ++i) {
    const std::string next = "x" + std::to_string(i);
    lines += "%" + next + " = elementwise(op=tanh,shape=3x5) %" + last + (i == 16 ? "   # Last\n" : "\n");
    last = next;
  }
  const Fused f = fused(lines + "output \"y\" %" + last + " f32[3, 5]\n");
  EXPECT_EQ(std::count(f.nodes.begin(), f.nodes.end(), '\n'), 5) << "16 functions behind the product, and 4\n"
                                                                 << f.nodes;
  EXPECT_EQ(f.why, "the dense that computes %x15 does not take the longer epilogue");
}

TEST(FuseEpilogues, TheLastOfSeveralProductsTakesTheOthersIn) {
  EXPECT_EQ(fused(R"(
input "x" %x f32[3, 4]
input "w" %w f32[5, 4]
%a = dense(m=3,n=5,k=4) %x %w
%b = dense(m=3,n=5,k=4) %x %w
%y = elementwise(op=sub,shape=3x5,operands=same) %a %b
output "y" %y f32[3, 5]
)")
                .nodes,
            "%a = dense(m=3,n=5,k=4,dtype=f32,epilogue=none) %x %w\n"
            "%y = dense(m=3,n=5,k=4,dtype=f32,epilogue=rsub) %x %w %a\n");
}

// Views that the pass adds have names that an earlier run of it may have used.
TEST(FuseEpilogues, TwiceMakesNoNameTwice) {
  Graph g = read_graph("graph g\n" + kConvolution + R"(%b.1 = constant f32[8, 1, 1] fill 3
%y = elementwise(op=add,shape=1x8x5x3,operands=1x8x1x1) %c %b
%v = reshape(shape=1x8x5x3,to=8x5x3) %y
%z = elementwise(op=mul,shape=8x5x3,operands=8x1x1) %v %b.1
output "z" %z f32[8, 5, 3]
)");
  for (int i = 0; i < 3; ++i) {
    g = fuse_epilogues(g, test_context());
    EXPECT_EQ(fault_of(g) ? fault_of(g)->what : "", "");
  }
}

}  // namespace
}  // namespace hone
