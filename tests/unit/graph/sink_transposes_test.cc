// Functions of what was moved, and the operators that take them in.
#include <gtest/gtest.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

// A product, moved, and what is computed of it.
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

}  // namespace
}  // namespace hone
