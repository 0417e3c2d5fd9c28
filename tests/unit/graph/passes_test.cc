// What each pass makes of small graphs, and what it must leave as it is.
#include "compiler/graph/passes/passes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sstream>
#include <tuple>

#include "tests/unit/graph/read_graph.h"

namespace hone {
namespace {

using testing::HasSubstr;

using GraphPass = Graph (*)(const Graph&, const PassContext&);

// The nodes and outputs of what a pass makes; the result is verified and its text read again.
std::string lines_of(const Graph& g) {
  verify(g);
  const std::string text = to_string(g);
  EXPECT_EQ(to_string(read_graph(text)), text);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (!line.starts_with("graph") && !line.starts_with("input")) out += line + "\n";
    at = end + 1;
  }
  return out;
}
std::string after(GraphPass pass, const std::string& lines) {
  return lines_of(pass(read_graph("graph g\n" + lines), test_context()));
}
Graph remove_dead_of(const Graph& g, const PassContext&) { return remove_dead(g); }
Graph share_nodes_of(const Graph& g, const PassContext&) { return share_nodes(g); }

// The same lines as canonical texts.
void expect_unchanged(GraphPass pass, const std::string& lines) {
  EXPECT_EQ(after(pass, lines), lines_of(read_graph("graph g\n" + lines)));
}

TEST(RemoveDead, WhatNobodyReadsGoes) {
  EXPECT_EQ(after(&remove_dead_of, R"(
input "x" %x f32[2]
input "unused" %unused f32[2]
%c = constant f32[2] [1, 2]
%a = elementwise(op=relu,shape=2) %x
%b = elementwise(op=add,shape=2,operands=same) %a %c
%d = elementwise(op=abs,shape=2) %b
output "y" %a f32[2]
)"),
            R"(%a = elementwise(op=relu,shape=2,operands=none,dtype=f32) %x
output "y" %a f32[2]
)");
}

TEST(RemoveDead, InputsStay) {
  const Graph g = remove_dead(read_graph("graph g\ninput \"x\" %x f32[2]\ninput \"n\" none f32[0]\n"));
  EXPECT_EQ(to_string(g), "graph g\ninput \"x\" %x f32[2]\ninput \"n\" none f32[0]\n");
}

TEST(ShareNodes, EqualNodesBecomeOne) {
  EXPECT_EQ(after(&share_nodes_of, R"(
input "x" %x f32[2]
%a = elementwise(op=relu,shape=2) %x
%b = elementwise(op=relu,shape=2) %x
%c = elementwise(op=abs,shape=2) %a
%d = elementwise(op=abs,shape=2) %b
output "c" %c f32[2]
output "d" %d f32[2]
)"),
            R"(%a = elementwise(op=relu,shape=2,operands=none,dtype=f32) %x
%c = elementwise(op=abs,shape=2,operands=none,dtype=f32) %a
output "c" %c f32[2]
output "d" %c f32[2]
)");
}

TEST(ShareNodes, OthersStayTwo) {
  expect_unchanged(&share_nodes_of, R"(
input "x" %x f32[2]
input "y" %y f32[2]
%a = elementwise(op=sub,shape=2,operands=same) %x %y
%b = elementwise(op=sub,shape=2,operands=same) %y %x
%c = elementwise(op=add,shape=2,operands=same) %x %y
output "a" %a f32[2]
output "b" %b f32[2]
output "c" %c f32[2]
)");
}

TEST(SimplifyMovement, ATransposeOfOnesIsAReshape) {
  EXPECT_EQ(after(&simplify_movement, R"(
input "x" %x f32[1, 3, 1, 5]
%t = transpose(shape=1x3x1x5,perm=1:0:3:2) %x
output "y" %t f32[3, 1, 5, 1]
)"),
            R"(%t = reshape(shape=1x3x1x5,to=3x1x5x1,dtype=f32) %x
output "y" %t f32[3, 1, 5, 1]
)");
}

TEST(SimplifyMovement, TransposesBecomeOne) {
  EXPECT_EQ(after(&simplify_movement, R"(
input "x" %x f32[2, 3, 5]
%a = transpose(shape=2x3x5,perm=1:2:0) %x
%b = transpose(shape=3x5x2,perm=0:2:1) %a
output "y" %b f32[3, 2, 5]
)"),
            R"(%b = transpose(shape=2x3x5,perm=1:0:2,dtype=f32) %x
output "y" %b f32[3, 2, 5]
)");
}

TEST(SimplifyMovement, ATransposeAndItsInverseAreNone) {
  EXPECT_EQ(after(&simplify_movement, R"(
input "x" %x f32[2, 3, 5]
%a = transpose(shape=2x3x5,perm=1:2:0) %x
%b = transpose(shape=3x5x2,perm=2:0:1) %a
%r = reshape(shape=2x3x5,to=2x3x5) %b
%y = elementwise(op=relu,shape=2x3x5) %r
output "y" %y f32[2, 3, 5]
)"),
            R"(%y = elementwise(op=relu,shape=2x3x5,operands=none,dtype=f32) %x
output "y" %y f32[2, 3, 5]
)");
}

TEST(SimplifyMovement, ReshapesBecomeOneAndTheFirstStaysForOthers) {
  EXPECT_EQ(after(&simplify_movement, R"(
input "x" %x f32[2, 3]
%a = reshape(shape=2x3,to=6) %x
%b = reshape(shape=6,to=3x2) %a
%c = elementwise(op=relu,shape=6) %a
output "b" %b f32[3, 2]
output "c" %c f32[6]
)"),
            R"(%a = reshape(shape=2x3,to=6,dtype=f32) %x
%b = reshape(shape=2x3,to=3x2,dtype=f32) %x
%c = elementwise(op=relu,shape=6,operands=none,dtype=f32) %a
output "b" %b f32[3, 2]
output "c" %c f32[6]
)");
}

TEST(SimplifyMovement, AnOutputMayBeTheInput) {
  EXPECT_EQ(after(&simplify_movement, R"(
input "x" %x f32[2, 3]
%a = reshape(shape=2x3,to=6) %x
%b = reshape(shape=6,to=2x3) %a
output "b" %b f32[2, 3]
)"),
            "output \"b\" %x f32[2, 3]\n");
}

TEST(SimplifyMovement, WhatMovesStays) {
  expect_unchanged(&simplify_movement, R"(
input "x" %x f32[2, 3]
%a = transpose(shape=2x3,perm=1:0) %x
%b = reshape(shape=3x2,to=2x3) %a
%c = transpose(shape=2x3,perm=1:0) %b
output "c" %c f32[3, 2]
)");
}

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
            R"(%scale_of_row12 = constant f32[4] [1, 2, 3, 4]
%b_of_row13 = constant f32[4] [5, 6, 7, 8]
%y = layer_norm(shape=2x5x4,axis=2,eps=1e-05,scale=1,bias=1,dtype=f32,epilogue=none) %x %scale_of_row12 %b_of_row13
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

TEST(FuseElementwise, AChain) {
  EXPECT_EQ(
      after(&fuse_elementwise, R"(
input "x" %x f32[2, 3]
input "z" %z f32[1, 3]
%a = elementwise(op=mul,shape=2x3,operands=1x3) %x %z   # first
%b = elementwise(op=relu,shape=2x3) %a   # second
%c = elementwise(op=add,shape=2x3,operands=same) %b %x   # third
output "c" %c f32[2, 3]
)"),
      R"(%c = elementwise(op=x=s+mul+relu+add[s],shape=2x3,operands=1x3,dtype=f32) %x %z   # first + second + third
output "c" %c f32[2, 3]
)");
}

TEST(FuseElementwise, TheSecondOperandIsExchanged) {
  EXPECT_EQ(after(&fuse_elementwise, R"(
input "x" %x f32[2]
input "z" %z f32[2]
%a = elementwise(op=abs,shape=2) %x
%b = elementwise(op=sub,shape=2,operands=same) %z %a
output "b" %b f32[2]
)"),
            R"(%b = elementwise(op=abs+rsub,shape=2,operands=same,dtype=f32) %x %z
output "b" %b f32[2]
)");
}

TEST(FuseElementwise, AValueReadTwiceByOneNodeIsALabel) {
  EXPECT_EQ(after(&fuse_elementwise, R"(
input "x" %x f32[2]
%a = elementwise(op=abs,shape=2) %x
%b = elementwise(op=mul,shape=2,operands=same) %a %a
output "b" %b f32[2]
)"),
            R"(%b = elementwise(op=abs+x=s+mul[s],shape=2,operands=none,dtype=f32) %x
output "b" %b f32[2]
)");
}

TEST(FuseElementwise, WhatOthersReadStays) {
  // By another node.
  expect_unchanged(&fuse_elementwise, R"(
input "x" %x f32[2, 3]
%a = elementwise(op=abs,shape=2x3) %x
%b = elementwise(op=relu,shape=2x3) %a
%s = reduce(op=sum,shape=2x3,axes=1) %a
output "b" %b f32[2, 3]
output "s" %s f32[2]
)");
  // As an output.
  expect_unchanged(&fuse_elementwise, R"(
input "x" %x f32[2]
%a = elementwise(op=abs,shape=2) %x
%b = elementwise(op=relu,shape=2) %a
output "a" %a f32[2]
output "b" %b f32[2]
)");
}

TEST(FuseElementwise, OfAnotherShapeStays) {
  // One result for many places would be computed once for each.
  expect_unchanged(&fuse_elementwise, R"(
input "x" %x f32[1, 3]
input "z" %z f32[2, 3]
%a = elementwise(op=exp,shape=1x3) %x
%b = elementwise(op=add,shape=2x3,operands=1x3) %z %a
output "b" %b f32[2, 3]
)");
}

TEST(FuseElementwise, WhatIsRoundedOnTheWayStays) {
  expect_unchanged(&fuse_elementwise, R"(
input "x" %x f32[2]
%a = elementwise(op=cast:f16,shape=2,dtype=f32) %x
%b = elementwise(op=cast:f32,shape=2,dtype=f16) %a
output "b" %b f32[2]
)");
}

TEST(FuseElementwise, ChainsHaveAnEnd) {
  std::string lines = "input \"x\" %x0 f32[2]\n";
  for (int i = 0; i < 20; ++i)
    lines += "%x" + std::to_string(i + 1) + " = elementwise(op=tanh,shape=2) %x" + std::to_string(i) + "\n";
  const Graph g = fuse_elementwise(read_graph("graph g\n" + lines + "output \"y\" %x20 f32[2]\n"), test_context());
  EXPECT_EQ(g.nodes.size(), 2u) << to_string(g);  // 16 functions and 4
}

constexpr const char* kConv = R"(
input "x" %x f32[1, 4, 5, 5]
%w = constant f32[8, 4, 3, 3] fill 1
%c = conv2d(n=1,ci=4,h=5,w=5,co=8,kh=3,kw=3,pad=1) %x %w   # Conv
)";

// All lines but those of constants.
std::string nodes_after(GraphPass pass, const std::string& lines) {
  const Graph g = pass(read_graph("graph g\n" + lines), test_context());
  verify(g);
  const std::string text = to_string(g);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (line.find(" = ") != std::string::npos && line.find(" = constant ") == std::string::npos) out += line + "\n";
    at = end + 1;
  }
  return out;
}
std::string epilogue_after(const std::string& lines) {
  const std::string out = nodes_after(&fuse_epilogues, lines);
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1) << out;
  const size_t at = out.find("epilogue=");
  return at == std::string::npos ? out : out.substr(at, out.size() - at - 1);
}

TEST(FuseEpilogues, ConstantsOfTheChannelsAreABias) {
  EXPECT_EQ(epilogue_after(std::string(kConv) + R"(%b = constant f32[1, 8, 1, 1] fill 2
%y = elementwise(op=add+relu,shape=1x8x5x5,operands=1x8x1x1) %c %b   # Add + Relu
output "y" %y f32[1, 8, 5, 5]
)"),
            "epilogue=bias+relu) %x %w %b.1   # Conv + Add + Relu");
}

TEST(FuseEpilogues, ValuesAreResiduals) {
  EXPECT_EQ(epilogue_after(std::string(kConv) + R"(input "r" %r f32[1, 8, 5, 5]
%y = elementwise(op=rsub,shape=1x8x5x5,operands=same) %r %c
output "y" %y f32[1, 8, 5, 5]
)")
                .substr(0, 12),
            "epilogue=sub");
}

TEST(FuseEpilogues, BehindEachOther) {
  const std::string out = epilogue_after(std::string(kConv) + R"(
%y = elementwise(op=relu,shape=1x8x5x5) %c
%z = elementwise(op=mul[2.0],shape=1x8x5x5) %y
output "z" %z f32[1, 8, 5, 5]
)");
  EXPECT_THAT(out, HasSubstr("epilogue=relu+mul[2])"));
}

TEST(FuseEpilogues, ThroughAView) {
  const std::string out = nodes_after(&fuse_epilogues, R"(
input "x" %x f32[2, 3, 4]
%w = constant f32[5, 4] fill 1
%f = reshape(shape=2x3x4,to=6x4) %x
%d = dense(m=6,n=5,k=4) %f %w
%v = reshape(shape=6x5,to=2x3x5) %d
%b = constant f32[1, 1, 5] fill 2
%y = elementwise(op=add,shape=2x3x5,operands=1x1x5) %v %b
output "y" %y f32[2, 3, 5]
)");
  EXPECT_EQ(out,
            R"(%f = reshape(shape=2x3x4,to=6x4,dtype=f32) %x
%d = dense(m=6,n=5,k=4,dtype=f32,epilogue=bias) %f %w %b.1
%y = reshape(shape=6x5,to=2x3x5,dtype=f32) %d
)");
}

TEST(FuseEpilogues, WhatOthersReadStays) {
  const std::string two_readers = std::string(kConv) + R"(
%y = elementwise(op=relu,shape=1x8x5x5) %c
%s = reduce(op=sum,shape=1x8x5x5,axes=2:3) %c
output "y" %y f32[1, 8, 5, 5]
output "s" %s f32[1, 8]
)";
  EXPECT_THAT(nodes_after(&fuse_epilogues, two_readers), HasSubstr("elementwise(op=relu"));
  const std::string output = std::string(kConv) + R"(
%y = elementwise(op=relu,shape=1x8x5x5) %c
output "y" %y f32[1, 8, 5, 5]
output "c" %c f32[1, 8, 5, 5]
)";
  EXPECT_THAT(nodes_after(&fuse_epilogues, output), HasSubstr("elementwise(op=relu"));
  const std::string view = std::string(kConv) + R"(
%v = reshape(shape=1x8x5x5,to=8x25) %c
%y = elementwise(op=relu,shape=8x25) %v
output "y" %y f32[8, 25]
output "c" %c f32[1, 8, 5, 5]
)";
  EXPECT_THAT(nodes_after(&fuse_epilogues, view), HasSubstr("elementwise(op=relu"));
}

TEST(FuseEpilogues, WhatIsRoundedOnTheWayIsRounded) {
  EXPECT_EQ(nodes_after(&fuse_epilogues, R"(
input "x" %x f32[2, 3]
input "w" %w f32[2, 3]
%d = dense(m=2,n=2,k=3) %x %w
%h = elementwise(op=cast:f16,shape=2x2) %d
%y = elementwise(op=cast:f32,shape=2x2,dtype=f16) %h
output "y" %y f32[2, 2]
)"),
            "%y = dense(m=2,n=2,k=3,dtype=f32,epilogue=cast:f16+cast:f32) %x %w\n");
}

TEST(FuseEpilogues, ChainsHaveAnEnd) {
  std::string lines = "input \"x\" %x f32[2, 3]\ninput \"w\" %w f32[2, 3]\n%x0 = dense(m=2,n=2,k=3) %x %w\n";
  for (int i = 0; i < 20; ++i)
    lines += "%x" + std::to_string(i + 1) + " = elementwise(op=tanh,shape=2x2) %x" + std::to_string(i) + "\n";
  const Graph g = fuse_epilogues(read_graph("graph g\n" + lines + "output \"y\" %x20 f32[2, 2]\n"), test_context());
  verify(g);
  EXPECT_EQ(g.nodes.size(), 5u) << to_string(g);  // 16 functions behind the product, and 4
}

TEST(FuseEpilogues, OperandsThatAViewHidesStay) {
  // One element for each of the middle axis, which the product's own shape does not have.
  expect_unchanged(&fuse_epilogues, R"(
input "x" %x f32[6, 4]
input "w" %w f32[5, 4]
input "z" %z f32[1, 3, 1]
%d = dense(m=6,n=5,k=4) %x %w
%v = reshape(shape=6x5,to=2x3x5) %d
%y = elementwise(op=add,shape=2x3x5,operands=1x3x1) %v %z
output "y" %y f32[2, 3, 5]
)");
}

TEST(FuseEpilogues, OfSeveralProductsTheLastTakesTheOthersIn) {
  EXPECT_EQ(nodes_after(&fuse_epilogues, R"(
input "x" %x f32[2, 3]
input "w" %w f32[2, 3]
%a = dense(m=2,n=2,k=3) %x %w
%b = dense(m=2,n=2,k=3) %x %w
%y = elementwise(op=sub,shape=2x2,operands=same) %a %b
output "y" %y f32[2, 2]
)"),
            "%a = dense(m=2,n=2,k=3,dtype=f32,epilogue=none) %x %w\n"
            "%y = dense(m=2,n=2,k=3,dtype=f32,epilogue=rsub) %x %w %a\n");
}

TEST(FuseEpilogues, OfALargerShapeStays) {
  expect_unchanged(&fuse_epilogues, R"(
input "x" %x f32[1, 4]
input "w" %w f32[5, 4]
input "z" %z f32[3, 5]
%d = dense(m=1,n=5,k=4) %x %w
%y = elementwise(op=add,shape=3x5,operands=1x5) %z %d
output "y" %y f32[3, 5]
)");
}

TEST(FuseEpilogues, TwiceMakesNoNameTwice) {
  // Views that the pass adds have names that an earlier run of it may have used.
  Graph g = read_graph(std::string("graph g\n") + kConv + R"(%b = constant f32[1, 8, 1, 1] fill 2
%b.1 = constant f32[8, 1, 1] fill 3
%y = elementwise(op=add,shape=1x8x5x5,operands=1x8x1x1) %c %b
%v = reshape(shape=1x8x5x5,to=8x5x5) %y
%z = elementwise(op=mul,shape=8x5x5,operands=8x1x1) %v %b.1
output "z" %z f32[8, 5, 5]
)");
  for (int i = 0; i < 3; ++i) {
    g = fuse_epilogues(g, test_context());
    EXPECT_EQ(fault_of(g) ? fault_of(g)->what : "", "");
  }
}

// The nodes that choose_layouts makes for a machine with vectors of 16.
std::string in_blocks(const std::string& lines) {
  const Graph g = choose_layouts(read_graph("graph g\n" + lines), {test_operators(), test_functions(), 16});
  verify(g);
  std::istringstream text(to_string(g));
  std::string out;
  for (std::string line; std::getline(text, line);)
    if (line.starts_with("%") && line.find("= constant") == std::string::npos) out += line + "\n";
  return out;
}

TEST(ChooseLayouts, BlocksBetweenConvolutionsAndRowsAround) {
  EXPECT_EQ(
      in_blocks(R"(
input "x" %x f32[1, 3, 4, 4]
%w = constant f32[32, 3, 1, 1] fill 1
%v = constant f32[24, 32, 1, 1] fill 2
%a = conv2d(ci=3,h=4,w=4,co=32,kh=1,kw=1,pad=0,layout=NCHW,epilogue=relu) %x %w
%b = conv2d(ci=32,h=4,w=4,co=24,kh=1,kw=1,pad=0,layout=NCHW) %a %v
%y = softmax(shape=1x24x4x4,axis=1) %b
output "y" %y f32[1, 24, 4, 4]
)"),
      R"(%a = conv2d(n=1,ci=3,h=4,w=4,co=32,kh=1,kw=1,stride=1,pad=0,dilation=1,groups=1,layout=NCHW1c:16c,dtype=f32,epilogue=relu) %x %w
%b = conv2d(n=1,ci=32,h=4,w=4,co=24,kh=1,kw=1,stride=1,pad=0,dilation=1,groups=1,layout=NCHW16c:8c,dtype=f32,epilogue=none) %a %v
%transpose = transpose(shape=1x3x4x4x8,perm=0:1:4:2:3,dtype=f32) %b
%reshape = reshape(shape=1x3x8x4x4,to=1x24x4x4,dtype=f32) %transpose
%y = softmax(shape=1x24x4x4,axis=1,dtype=f32,epilogue=none) %reshape
)");
}

TEST(ChooseLayouts, ChannelsAreFilledUpWhereTheImageGoesOnInBlocks) {
  EXPECT_EQ(
      in_blocks(R"(
input "x" %x f32[1, 30, 4, 4]
%w = constant f32[30, 30, 1, 1] fill 1
%b = constant f32[30] fill 2
%d = constant f32[30, 1, 3, 3] fill 3
%v = constant f32[16, 30, 1, 1] fill 4
%1 = conv2d(ci=30,h=4,w=4,co=30,kh=1,kw=1,pad=0,layout=NCHW,epilogue=bias+silu) %x %w %b
%2 = depthwise_conv2d(c=30,h=4,w=4,layout=NCHW) %1 %d
%m = reduce(op=mean,shape=1x30x4x4,axes=2:3,keepdims=1) %2
%3 = conv2d(ci=30,h=4,w=4,co=16,kh=1,kw=1,pad=0,layout=NCHW) %2 %v
output "y" %3 f32[1, 16, 4, 4]
output "m" %m f32[1, 30, 1, 1]
)"),
      R"(%1 = conv2d(n=1,ci=30,h=4,w=4,co=32,kh=1,kw=1,stride=1,pad=0,dilation=1,groups=1,layout=NCHW1c:16c,dtype=f32,epilogue=bias+silu) %x %pad %pad_1
%2 = depthwise_conv2d(n=1,c=32,h=4,w=4,kh=3,kw=3,stride=1,pad=1,dilation=1,layout=NCHW16c,dtype=f32,epilogue=none) %1 %pad_2
%m = reduce(op=mean,shape=1x2x4x4x16,axes=2:3,keepdims=1,dtype=f32) %2
%reshape = reshape(shape=1x2x1x1x16,to=1x32x1x1,dtype=f32) %m
%slice = slice(shape=1x32x1x1,begin=0:0:0:0,step=1:1:1:1,size=1x30x1x1,dtype=f32) %reshape
%3 = conv2d(n=1,ci=32,h=4,w=4,co=16,kh=1,kw=1,stride=1,pad=0,dilation=1,groups=1,layout=NCHW16c,dtype=f32,epilogue=none) %2 %pad_3
%transpose = transpose(shape=1x1x4x4x16,perm=0:1:4:2:3,dtype=f32) %3
%reshape_1 = reshape(shape=1x1x16x4x4,to=1x16x4x4,dtype=f32) %transpose
)");
}

TEST(ChooseLayouts, WhatNeedNotStayFiniteIsNotFilledUp) {
  const std::string lines = R"(
input "x" %x f32[1, 3, 4, 4]
%w = constant f32[30, 3, 1, 1] fill 1
%v = constant f32[16, 30, 1, 1] fill 2
%a = conv2d(ci=3,h=4,w=4,co=30,kh=1,kw=1,pad=0,layout=NCHW,epilogue=reciprocal) %x %w
%b = conv2d(ci=30,h=4,w=4,co=16,kh=1,kw=1,pad=0,layout=NCHW) %a %v
output "y" %b f32[1, 16, 4, 4]
)";
  EXPECT_THAT(in_blocks(lines),
              testing::AllOf(HasSubstr("co=30"), HasSubstr("NCHW1c:16c"), testing::Not(HasSubstr("co=32"))));
}

TEST(GraphPasses, ByName) {
  EXPECT_EQ(
      names_of(graph_passes(test_context())),
      "remove_dead, share_nodes, simplify_movement, recognize_rows, fuse_elementwise, fuse_epilogues, choose_layouts, "
      "simplify_conversions");
}

}  // namespace
}  // namespace hone
