// Functions of moved tensors, and the operators that take them in.
#include <gtest/gtest.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

// A product, moved, and functions of it.
Graph function_of_moved(const std::string& tail) {
  return read_graph(R"(graph g
input "a" %a f32[5, 4]
input "b" %b f32[7, 4]
input "k" %k f32[7, 1]
%p = dense(m=5,n=7,k=4,epilogue=none) %a %b
%t = transpose(shape=5x7,perm=1:0) %p
)" + tail);
}

TEST(SinkTransposes, FunctionsGoToWhatComputesTheirInput) {
  const Graph g = function_of_moved(R"(%w = constant f32[7, 5] fill 3
%y = elementwise(op=mul+add+relu,shape=7x5,operands=7x1:7x5) %t %k %w
output "y" %y f32[7, 5]
)");
  const Graph sunk = sink_transposes(g, test_context());
  expect_same_values(g, sunk);
  const Graph fused = fuse_epilogues(simplify_movement(sunk, test_context()), test_context());
  EXPECT_EQ(count_of(fused, "elementwise"), 0) << to_string(fused);
  expect_same_values(g, fused);
}

TEST(SinkTransposes, WhatWouldMoveMoreStays) {
  const auto stays = [](const std::string& tail) {
    const Graph g = function_of_moved(tail);
    EXPECT_EQ(lines_of(sink_transposes(g, test_context())), lines_of(g));
  };
  // Another reader; an output; an operand that would have to be moved itself; the input, twice.
  stays(R"(%y = elementwise(op=relu,shape=7x5) %t
%z = elementwise(op=exp,shape=7x5) %t
output "y" %y f32[7, 5]
output "z" %z f32[7, 5]
)");
  stays("%y = elementwise(op=relu,shape=7x5) %t\noutput \"y\" %y f32[7, 5]\noutput \"t\" %t f32[7, 5]\n");
  stays(R"(%s = elementwise(op=exp,shape=7x1) %k
%e = broadcast(shape=7x1,to=7x5) %s
%y = elementwise(op=add,shape=7x5,operands=7x5) %t %e
output "y" %y f32[7, 5]
)");
  stays("%y = elementwise(op=mul,shape=7x5,operands=7x5) %t %t\noutput \"y\" %y f32[7, 5]\n");
}

// The places of a transposed convolution: numbers of each channel are repeated for the four of them.
Graph function_of_places(const std::string& tail) {
  return read_graph(R"(graph g
input "x" %x f32[1, 4, 8, 6]
input "o" %o f32[1, 1, 1, 1]
%w = constant f32[96, 4, 1, 1] fill 1
%k = constant f32[1, 24, 1, 1] fill 2
%p = conv2d(ci=4,h=8,w=6,co=96,kh=1,kw=1,pad=0,layout=NCHW) %x %w
%q = reshape(shape=1x96x8x6,to=1x1x2x2x24x8x6) %p
%t = transpose(shape=1x1x2x2x24x8x6,perm=0:1:4:5:2:6:3) %q
%r = reshape(shape=1x1x24x8x2x6x2,to=1x24x16x12) %t
)" + tail);
}

TEST(SinkTransposes, FunctionsGoPastViewsOnBothSides) {
  const Graph g = function_of_places(R"(
%y = elementwise(op=mul+add+add[2]+relu,shape=1x24x16x12,operands=1x24x1x1:1x1x1x1) %r %k %o
output "y" %y f32[1, 24, 16, 12]
)");
  const Graph sunk = sink_transposes(g, test_context());
  expect_same_values(g, sunk);
  const Graph fused = fuse_epilogues(simplify_movement(sunk, test_context()), test_context());
  EXPECT_EQ(count_of(fused, "elementwise"), 0) << to_string(fused);
  EXPECT_EQ(count_of(fused, "transpose"), 1) << to_string(fused);
  expect_same_values(g, fused);
}

TEST(SinkTransposes, WhatOnlyACallKnowsIsNotRepeated) {
  const Graph g = function_of_places(R"(
%m = reduce(op=max,shape=1x24x16x12,axes=2:3,keepdims=1) %r
%y = elementwise(op=mul,shape=1x24x16x12,operands=1x24x1x1) %r %m
output "y" %y f32[1, 24, 16, 12]
)");
  EXPECT_EQ(to_string(sink_transposes(g, test_context())), to_string(g));
}

// A number for each row and column of the result would be one for each element in front of the view.
TEST(SinkTransposes, WhatWouldBeRepeatedForAllStays) {
  const Graph g = function_of_places(R"(
%n = constant f32[1, 1, 16, 1] fill 3
%y = elementwise(op=mul,shape=1x24x16x12,operands=1x1x16x1) %r %n
output "y" %y f32[1, 24, 16, 12]
)");
  EXPECT_EQ(to_string(sink_transposes(g, test_context())), to_string(g));
}

}  // namespace
}  // namespace hone
