// Nodes and values without readers go; what the caller sees stays.
#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

Graph without_dead(const Graph& g, const PassContext&) { return remove_dead(g); }

// A chain of nodes goes from its end, with the constant that only it reads.
TEST(RemoveDead, UnreadNodesAndConstantsGo) {
  expect_becomes(&without_dead, R"(
input "x" %x f32[3, 5]
input "unused" %unused f32[2]
%c = constant f32[3, 5] fill 1
%a = elementwise(op=relu,shape=3x5) %x
%b = elementwise(op=add,shape=3x5,operands=same) %a %c
%d = elementwise(op=abs,shape=3x5) %b
output "y" %a f32[3, 5]
)",
                 R"(%a = elementwise(op=relu,shape=3x5,operands=none,dtype=f32) %x
output "y" %a f32[3, 5]
)");
}

// A text shows values that are read alone.
TEST(RemoveDead, UnreadValuesGo) {
  const Graph g =
      remove_dead(read_graph("graph g\ninput \"x\" %x f32[2]\n%c = constant f32[2] fill 1\n"
                             "%a = elementwise(op=relu,shape=2) %x\noutput \"y\" %x f32[2]\n"));
  ASSERT_EQ(g.values.size(), 1u);
  EXPECT_EQ(g.value(0).name, "x");
}

// Values in front of those that stay go, too: all others get new numbers, also as ports.
TEST(RemoveDead, WhatStaysIsRenumbered) {
  expect_becomes(&without_dead, R"(
input "x" %x s32[7]
%c = constant s32[7] fill 1
%dead = elementwise(op=add,shape=7,operands=same,dtype=s32) %x %c
%d = constant s32[7] fill 2
%a = elementwise(op=sub,shape=7,operands=same,dtype=s32) %x %d
%b = elementwise(op=mul,shape=7,operands=same,dtype=s32) %a %d
output "b" %b s32[7]
output "d" %d s32[7]
output "x" %x s32[7]
)",
                 R"(%d = constant s32[7] [0, 1, -2, 1, -1, 4, 0]
%a = elementwise(op=sub,shape=7,operands=same,dtype=s32) %x %d
%b = elementwise(op=mul,shape=7,operands=same,dtype=s32) %a %d
output "b" %b s32[7]
output "d" %d s32[7]
output "x" %x s32[7]
)");
}

TEST(RemoveDead, InputsStay) {
  const std::string text = "graph g\ninput \"x\" %x f32[2]\ninput \"n\" none f32[0]\n";
  EXPECT_EQ(to_string(remove_dead(read_graph(text))), text);
}

TEST(RemoveDead, OutputsWithoutElementsStay) {
  expect_becomes(&without_dead, R"(
input "x" %x f32[2]
%a = elementwise(op=relu,shape=2) %x
output "n" none f32[0]
output "x" %x f32[2]
)",
                 "output \"n\" none f32[0]\noutput \"x\" %x f32[2]\n");
}

// A node gives all of its outputs or none.
TEST(RemoveDead, OneReadOutputKeepsTheNode) {
  const std::string layer = R"(
input "x" %x f32[3, 1, 8]
input "h" %h f32[1, 2]
input "c" %c f32[1, 2]
%r = constant f32[4, 2, 2] fill 1
%y, %cell = lstm(batch=1,hidden=2,steps=3) %x %r %h %c
)";
  const std::string ports[] = {"output \"y\" %y f32[3, 1, 2]\n", "output \"cell\" %cell f32[1, 2]\n"};
  for (const std::string& port : ports) expect_unchanged(&without_dead, layer + port);
  EXPECT_EQ(after(&without_dead, layer + "output \"x\" %x f32[3, 1, 8]\n"), "output \"x\" %x f32[3, 1, 8]\n");
}

}  // namespace
}  // namespace hone
