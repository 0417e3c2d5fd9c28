// Learned numbers become operands, so that equal layers are one workload.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

TEST(LiftNumbers, LearnedOnesBecomeOperands) {
  expect_becomes(&lift_numbers, R"(
input "x" %x f32[3, 2]
%w = constant f32[2, 2] [1, 2, 3, 4]
%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=relu+mul[0.65898335]+add[0.125]+add[-1.5e-05]+add[12345]) %x %w
output "y" %y f32[3, 2]
)",
                 R"(%w = constant f32[2, 2] [1, 2, 3, 4]
%w_number = constant f32[1] [0.65898335]
%w_number_1 = constant f32[1] [12345]
%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=relu+mul[1]+add[0.125]+add[-1.5e-05]+add[1]) %x %w %w_number %w_number_1
output "y" %y f32[3, 2]
)");
}

// Each stands where it stood among the operands that are there.
TEST(LiftNumbers, OperandsKeepTheirOrder) {
  expect_becomes(&lift_numbers, R"(
input "x" %x f64[3, 2]
input "z" %z f64[3, 5]
%w = constant f64[5, 2] [1, 2, 3, 4, 5, 6, 7, 8, 9, -10]
%b = constant f64[5] [1, 2, 3, 4, -5]
%y = dense(m=3,n=5,k=2,dtype=f64,epilogue=bias+mul[0.123456789012]+sub+add[0.98765]) %x %w %b %z
output "y" %y f64[3, 5]
)",
                 R"(%w = constant f64[5, 2] [1, 2, 3, 4, 5, 6, 7, 8, 9, -10]
%b = constant f64[5] [1, 2, 3, 4, -5]
%w_number = constant f64[1] [0.123456789012]
%w_number_1 = constant f64[1] [0.98765]
%y = dense(m=3,n=5,k=2,dtype=f64,epilogue=bias+mul[1]+sub+add[1]) %x %w %b %w_number %z %w_number_1
output "y" %y f64[3, 5]
)");
}

// The epilogue that the pass makes of this one, of a dense product with known weights.
std::string lifted(const std::string& epilogue, const std::string& dtype = "f32") {
  const Graph g = read_graph("graph g\ninput \"x\" %x " + dtype + "[3, 2]\n%w = constant " + dtype +
                             "[5, 2] fill 1\n%y = dense(m=3,n=5,k=2,dtype=" + dtype + ",epilogue=" + epilogue +
                             ") %x %w\noutput \"y\" %y " + dtype + "[3, 5]\n");
  const Graph made = lift_numbers(g, test_context());
  expect_same_values(g, made);
  return made.nodes[0].workload.attributes.text("epilogue");
}

// Digits count from the first that is not 0 up to the exponent.
TEST(LiftNumbers, MoreThanFourDigitsAreLearned) {
  for (const char* number : {"0.12345", "0.00012345", "1.2345e-07", "-1234.5", "10001"}) {
    EXPECT_EQ(lifted(fmt::format("mul[{}]+relu", number)), "mul[1]+relu") << number;
    EXPECT_EQ(lifted(fmt::format("add[{}]+relu", number)), "add[1]+relu") << number;
  }
  for (const char* number : {"0", "0.1234", "1e-05", "1.234e-07", "-123.5", "1000"}) {
    const std::string epilogue = fmt::format("add[{}]+relu", number);
    EXPECT_EQ(lifted(epilogue), epilogue);
  }
}

// Numbers of other functions, and those of another type: as an operand they would be rounded to the output's.
TEST(LiftNumbers, NumbersOfOtherFunctionsAndTypesStay) {
  for (const char* epilogue : {"sub[0.12345]", "maximum[0.12345]", "rdiv[0.12345]", "clip[0.12345;0.54321]",
                               "cast:f16+mul[0.1234]+mul[0.12345]+neg:f32", "mul[0.12345]:f64+cast:f32"})
    EXPECT_EQ(lifted(epilogue), epilogue);
  EXPECT_EQ(lifted("mul[0.12345]", "f16"), "mul[0.12345]");
}

TEST(LiftNumbers, EqualLayersAreOneWorkload) {
  const Graph g = lift_numbers(read_graph(R"(graph g
input "x" %x f32[3, 2]
%w = constant f32[2, 2] [1, 2, 3, 4]
%a = dense(m=3,n=2,k=2,dtype=f32,epilogue=mul[0.65898335]+relu) %x %w
%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=mul[0.72118233]+relu) %a %w
output "y" %y f32[3, 2]
)"),
                               test_context());
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(to_string(g.nodes[0].workload), to_string(g.nodes[1].workload));
}

TEST(LiftNumbers, ThoseOfConvolutionsToo) {
  for (const std::string op : {"conv2d(n=1,ci=2,h=3,w=5,co=2,", "depthwise_conv2d(n=1,c=2,h=3,w=5,"}) {
    const Graph g = read_graph("graph g\ninput \"x\" %x f32[1, 2, 3, 5]\n%w = constant f32[2, " +
                               std::string(op[0] == 'c' ? "2" : "1") + ", 1, 1] fill 1\n%y = " + op +
                               "kh=1,kw=1,pad=0,layout=NCHW,epilogue=mul[0.65898335]) %x %w\n"
                               "output \"y\" %y f32[1, 2, 3, 5]\n");
    const Graph made = lift_numbers(g, test_context());
    EXPECT_THAT(to_string(made), HasSubstr("epilogue=mul[1]"));
    expect_same_values(g, made);
  }
}

// Products of two inputs, other operators, and convolutions in blocks, where operands would have to be, too.
TEST(LiftNumbers, OtherOperatorsStay) {
  expect_unchanged(&lift_numbers, R"(
input "x" %x f32[3, 2]
input "w" %w f32[2, 2]
%y = dense(m=3,n=2,k=2,dtype=f32,epilogue=mul[0.65898335]) %x %w
output "y" %y f32[3, 2]
)");
  expect_unchanged(&lift_numbers, R"(
input "x" %x f32[2, 3, 5]
input "w" %w f32[2, 5, 7]
%y = batch_matmul(b=2,m=3,n=7,k=5,dtype=f32,epilogue=mul[0.65898335]) %x %w
%z = elementwise(op=mul[0.65898335],shape=2x3x7) %y
output "z" %z f32[2, 3, 7]
)");
  expect_unchanged(&lift_numbers, R"(
input "x" %x f32[1, 1, 3, 3, 2]
%w = constant f32[2, 2, 1, 1] [1, 2, 3, 4]
%y = conv2d(n=1,ci=2,h=3,w=3,co=2,kh=1,kw=1,pad=0,layout=NCHW2c,epilogue=mul[0.65898335]) %x %w
output "y" %y f32[1, 1, 3, 3, 2]
)");
}

// Steps and zero points have few digits or many. Behind a rounding a zero point stays: both are one conversion.
TEST(LiftNumbers, AllNumbersOfSumsOfBytesAreLifted) {
  const auto of_bytes = [](const std::string& epilogue) {
    const Graph g = read_graph(
        "graph g\ninput \"x\" %x u8[3, 4]\n%w = constant s8[2, 4] [1, 2, 3, 4, 5, 6, 7, 8]\n"
        "%y = dense(m=3,n=2,k=4,dtype=u8:s8:s32:s32,epilogue=" +
        epilogue + ") %x %w\noutput \"y\" %y u8[3, 2]\n");
    const Graph made = lift_numbers(g, test_context());
    expect_same_values(g, made);
    return made.nodes[0].workload.attributes.text("epilogue");
  };
  EXPECT_EQ(of_bytes("cast:f32+mul[0.5]+round+add[3]+saturate:u8"), "cast:f32+mul[1]+round+add[3]+saturate:u8");
  EXPECT_EQ(of_bytes("cast:f32+sub[7]+mul[0.5]+add[9]+round+saturate:u8"),
            "cast:f32+sub[1]+mul[1]+add[1]+round+saturate:u8");
  // In whole numbers operands would not be f32.
  EXPECT_EQ(of_bytes("add[7]+saturate:u8"), "add[7]+saturate:u8");
}

}  // namespace
}  // namespace hone
