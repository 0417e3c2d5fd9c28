// Softmax and norms as exporters spell them, and nodes that only look like them.
#include "compiler/graph/passes/passes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <tuple>

#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

TEST(RecognizeRows, LayerNormAsPowersAndRoots) {
  EXPECT_EQ(after(&recognize_rows, R"(
input "x" %x f32[2, 5, 4]
%m = reduce(op=mean,shape=2x5x4,axes=2,keepdims=1) %x
%d = elementwise(op=sub,shape=2x5x4,operands=2x5x1) %x %m
%p = elementwise(op=pow[2],shape=2x5x4) %d
%v = reduce(op=mean,shape=2x5x4,axes=2,keepdims=1) %p
%e = elementwise(op=add[1e-05],shape=2x5x1) %v
%r = elementwise(op=sqrt,shape=2x5x1) %e
%q = elementwise(op=div,shape=2x5x4,operands=2x5x1) %d %r
%scale = constant f32[1, 1, 4] [1, 2, 3, 4]
%s = elementwise(op=mul,shape=2x5x4,operands=1x1x4) %q %scale
%b = constant f32[1, 1, 4] [5, 6, 7, 8]
%y = elementwise(op=add,shape=2x5x4,operands=1x1x4) %s %b
output "y" %y f32[2, 5, 4]
)"),
            R"(%scale_1 = constant f32[4] [1, 2, 3, 4]
%b_1 = constant f32[4] [5, 6, 7, 8]
%y = layer_norm(shape=2x5x4,axis=2,eps=1e-05,scale=1,bias=1,dtype=f32,epilogue=none) %x %scale_1 %b_1
output "y" %y f32[2, 5, 4]
)");
}

TEST(RecognizeRows, NormsOverInverseRootsWithoutConstants) {
  EXPECT_EQ(after(&recognize_rows, R"(
input "x" %x f32[6, 4]
%p = elementwise(op=mul,shape=6x4,operands=same) %x %x
%v = reduce(op=sum,shape=6x4,axes=1,keepdims=0) %p
%w = elementwise(op=mul[0.25],shape=6) %v
%u = reshape(shape=6,to=6x1) %w
%r = elementwise(op=sqrt,shape=6x1) %u
%i = elementwise(op=reciprocal,shape=6x1) %r
%y = elementwise(op=mul,shape=6x4,operands=6x1) %x %i
output "y" %y f32[6, 4]
)"),
            R"(%y = rms_norm(shape=6x4,axis=1,eps=0,scale=0,dtype=f32,epilogue=none) %x
output "y" %y f32[6, 4]
)");
}

TEST(RecognizeRows, LengthsAndSoftmax) {
  EXPECT_EQ(after(&recognize_rows, R"(
input "x" %x f32[6, 4, 3]
%l = reduce(op=l2,shape=6x4x3,axes=1,keepdims=1) %x
%c = elementwise(op=maximum[1e-12],shape=6x1x3) %l
%n = elementwise(op=div,shape=6x4x3,operands=6x1x3) %x %c
%m = reduce(op=max,shape=6x4x3,axes=2,keepdims=1) %n
%d = elementwise(op=sub,shape=6x4x3,operands=6x4x1) %n %m
%e = elementwise(op=exp,shape=6x4x3) %d
%s = reduce(op=sum,shape=6x4x3,axes=2,keepdims=1) %e
%y = elementwise(op=div,shape=6x4x3,operands=6x4x1) %e %s
output "y" %y f32[6, 4, 3]
)"),
            R"(%n = l2_norm(shape=6x4x3,axis=1,eps=1e-12,dtype=f32,epilogue=none) %x
%y = softmax(shape=6x4x3,axis=2,dtype=f32,epilogue=none) %n
output "y" %y f32[6, 4, 3]
)");
}

TEST(RecognizeRows, WhatIsSomethingElseStays) {
  // The mean of other axes; squares of another tensor; rows in the middle; 16 bits, which are rounded on the way.
  for (const auto& [type, square, axis, per_row] :
       {std::tuple{"f32", "%z %z", "1", "6x1"}, {"f32", "%x %x", "0", "1x4"}, {"f16", "%x %x", "1", "6x1"}})
    expect_unchanged(&recognize_rows, fmt::format(R"(
input "x" %x {0}[6, 4]
input "z" %z {0}[6, 4]
%p = elementwise(op=mul,shape=6x4,operands=same,dtype={0}) {1}
%v = reduce(op=mean,shape=6x4,axes={2},keepdims=1,dtype={0}) %p
%i = elementwise(op=rsqrt,shape={3},dtype={0}) %v
%y = elementwise(op=mul,shape=6x4,operands={3},dtype={0}) %x %i
output "y" %y {0}[6, 4]
)",
                                                  type, square, axis, per_row));
}

// Squares, whose columns are as long as their rows: a row's value that is broadcast along the other axis.
TEST(RecognizeRows, WhatBelongsToTheOtherAxisStays) {
  const std::string input = "input \"x\" %x f32[4, 4]\n", output = "output \"y\" %y f32[4, 4]\n";
  for (const std::string of_max : {"1x4", "4x1"})
    for (const std::string of_sum : {"1x4", "4x1"}) {
      const std::string lines = input + R"(
%m = reduce(op=max,shape=4x4,axes=1,keepdims=0) %x
%mr = reshape(shape=4,to=)" + of_max +
                                R"() %m
%d = elementwise(op=sub,shape=4x4,operands=)" +
                                of_max + R"() %x %mr
%e = elementwise(op=exp,shape=4x4) %d
%s = reduce(op=sum,shape=4x4,axes=1,keepdims=0) %e
%sr = reshape(shape=4,to=)" + of_sum +
                                R"() %s
%y = elementwise(op=div,shape=4x4,operands=)" +
                                of_sum + R"() %e %sr
)" + output;
      if (of_max == "4x1" && of_sum == "4x1")
        EXPECT_THAT(after(&recognize_rows, lines), HasSubstr("softmax"));
      else
        expect_unchanged(&recognize_rows, lines);
    }
  for (const std::string of_mean : {"1x4", "4x1"})
    for (const std::string of_root : {"1x4", "4x1"}) {
      const std::string lines = input + R"(
%m = reduce(op=mean,shape=4x4,axes=1,keepdims=0) %x
%mr = reshape(shape=4,to=)" + of_mean +
                                R"() %m
%d = elementwise(op=sub,shape=4x4,operands=)" +
                                of_mean + R"() %x %mr
%p = elementwise(op=pow[2],shape=4x4) %d
%v = reduce(op=mean,shape=4x4,axes=1,keepdims=0) %p
%r = elementwise(op=sqrt,shape=4) %v
%rr = reshape(shape=4,to=)" + of_root +
                                R"() %r
%y = elementwise(op=div,shape=4x4,operands=)" +
                                of_root + R"() %d %rr
)" + output;
      const std::string made = after(&recognize_rows, lines);
      EXPECT_EQ(made.find("layer_norm") != std::string::npos, of_mean == "4x1" && of_root == "4x1") << made;
      EXPECT_EQ(made.find("rms_norm") != std::string::npos, of_mean == "1x4" && of_root == "4x1") << made;
    }
  expect_unchanged(&recognize_rows, input + R"(
%l = reduce(op=l2,shape=4x4,axes=1,keepdims=0) %x
%c = elementwise(op=maximum[1e-12],shape=4) %l
%cr = reshape(shape=4,to=1x4) %c
%y = elementwise(op=div,shape=4x4,operands=1x4) %x %cr
)" + output);
}

TEST(RecognizeRows, ConstantsOfOtherShapesAndSharedResultsStayBehind) {
  EXPECT_EQ(after(&recognize_rows, R"(
input "x" %x f32[6, 4]
%p = elementwise(op=mul,shape=6x4,operands=same) %x %x
%v = reduce(op=mean,shape=6x4,axes=1,keepdims=1) %p
%i = elementwise(op=rsqrt,shape=6x1) %v
%n = elementwise(op=mul,shape=6x4,operands=6x1) %x %i
%c = constant f32[1, 4] [1, 2, 3, 4]
%y = elementwise(op=mul,shape=6x4,operands=1x4) %n %c
output "y" %y f32[6, 4]
output "n" %n f32[6, 4]
)"),
            R"(%n = rms_norm(shape=6x4,axis=1,eps=0,scale=0,dtype=f32,epilogue=none) %x
%c = constant f32[1, 4] [1, 2, 3, 4]
%y = elementwise(op=mul,shape=6x4,operands=1x4,dtype=f32) %n %c
output "y" %y f32[6, 4]
output "n" %n f32[6, 4]
)");
}

}  // namespace
}  // namespace hone
