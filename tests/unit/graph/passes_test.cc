// Each pass on small graphs: what it changes, and what it must leave as it is.
#include "compiler/graph/passes/passes.h"

#include <gmock/gmock.h>

#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

Graph remove_dead_of(const Graph& g, const PassContext&) { return remove_dead(g); }

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
  EXPECT_EQ(after(&share_nodes, R"(
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
  expect_unchanged(&share_nodes, R"(
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

constexpr const char* kPassesConv = R"(
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
std::string epilogue_after_in_passes(const std::string& lines) {
  const std::string out = nodes_after(&fuse_epilogues, lines);
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1) << out;
  const size_t at = out.find("epilogue=");
  return at == std::string::npos ? out : out.substr(at, out.size() - at - 1);
}

TEST(FuseEpilogues, ConstantsOfTheChannelsAreABias) {
  EXPECT_EQ(epilogue_after_in_passes(std::string(kPassesConv) + R"(%b = constant f32[1, 8, 1, 1] fill 2
%y = elementwise(op=add+relu,shape=1x8x5x5,operands=1x8x1x1) %c %b   # Add + Relu
output "y" %y f32[1, 8, 5, 5]
)"),
            "epilogue=bias+relu) %x %w %b_1   # Conv + Add + Relu");
}

TEST(FuseEpilogues, ValuesAreResiduals) {
  EXPECT_EQ(epilogue_after_in_passes(std::string(kPassesConv) + R"(input "r" %r f32[1, 8, 5, 5]
%y = elementwise(op=rsub,shape=1x8x5x5,operands=same) %r %c
output "y" %y f32[1, 8, 5, 5]
)")
                .substr(0, 12),
            "epilogue=sub");
}

TEST(FuseEpilogues, BehindEachOther) {
  const std::string out = epilogue_after_in_passes(std::string(kPassesConv) + R"(
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
%dense = dense(m=6,n=5,k=4,dtype=f32,epilogue=bias) %f %w %b_1
%y = reshape(shape=6x5,to=2x3x5,dtype=f32) %dense
)");
}

TEST(FuseEpilogues, ThroughAViewWithOtherAxesOfOneElement) {
  const std::string out = nodes_after(&fuse_epilogues, R"(
input "x" %x f32[1, 4, 1, 5]
%w = constant f32[8, 4, 1, 3] fill 1
%c = conv2d(n=1,ci=4,h=1,w=5,co=8,kh=1,kw=3,layout=NCHW,pad=0) %x %w
%v = reshape(shape=1x8x1x3,to=1x8x3) %c
%b = constant f32[1, 8, 1] fill 2
%y = elementwise(op=add+relu,shape=1x8x3,operands=1x8x1) %v %b
output "y" %y f32[1, 8, 3]
)");
  EXPECT_THAT(out, HasSubstr("epilogue=bias+relu) %x %w %b_1"));
  EXPECT_THAT(out, testing::Not(HasSubstr("elementwise")));
}

// As many columns as channels: a constant with a number for each column is no bias.
TEST(FuseEpilogues, ConstantsOfTheColumnsAreNoBias) {
  EXPECT_THAT(nodes_after(&fuse_epilogues, R"(
input "x" %x f32[1, 4, 1, 8]
%w = constant f32[8, 4, 1, 1] fill 1
%c = conv2d(n=1,ci=4,h=1,w=8,co=8,kh=1,kw=1,layout=NCHW,pad=0) %x %w
%v = reshape(shape=1x8x1x8,to=1x8x8) %c
%b = constant f32[1, 1, 8] fill 2
%y = elementwise(op=add,shape=1x8x8,operands=1x1x8) %v %b
output "y" %y f32[1, 8, 8]
)"),
              testing::Not(HasSubstr("bias")));
}

TEST(FuseEpilogues, WhatOthersReadStays) {
  const std::string two_readers = std::string(kPassesConv) + R"(
%y = elementwise(op=relu,shape=1x8x5x5) %c
%s = reduce(op=sum,shape=1x8x5x5,axes=2:3) %c
output "y" %y f32[1, 8, 5, 5]
output "s" %s f32[1, 8]
)";
  EXPECT_THAT(nodes_after(&fuse_epilogues, two_readers), HasSubstr("elementwise(op=relu"));
  const std::string output = std::string(kPassesConv) + R"(
%y = elementwise(op=relu,shape=1x8x5x5) %c
output "y" %y f32[1, 8, 5, 5]
output "c" %c f32[1, 8, 5, 5]
)";
  EXPECT_THAT(nodes_after(&fuse_epilogues, output), HasSubstr("elementwise(op=relu"));
  const std::string view = std::string(kPassesConv) + R"(
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
  Graph g = read_graph(std::string("graph g\n") + kPassesConv + R"(%b = constant f32[1, 8, 1, 1] fill 2
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

TEST(GraphPasses, ByName) {
  EXPECT_EQ(names_of(graph_passes(test_context())),
            "remove_dead, share_nodes, simplify_movement, fold_pads, fold_repeats, simplify_repeats, move_bytes, "
            "narrow_products, "
            "use_tables, recognize_rows, sequences_as_images, simplify_sequences, fuse_elementwise, simplify_chains, "
            "sink_transposes, "
            "simplify_moved, fuse_epilogues, fold_requantization, simplify_views, fuse_prologues, "
            "fuse_attention, fold_scales, lift_numbers, merge_siblings, choose_layouts, planar_products, "
            "join_transposes, simplify_conversions, fold_preprocessing, split_groups, "
            "fuse_extremes");
}

}  // namespace
}  // namespace hone
