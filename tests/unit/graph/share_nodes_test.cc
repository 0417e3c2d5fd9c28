// Nodes that compute the same become one.
#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

// Those behind equal nodes are equal, too.
TEST(ShareNodes, EqualNodesBecomeOne) {
  expect_becomes(&share_nodes, R"(
input "x" %x f32[3, 5]
%a = elementwise(op=relu,shape=3x5) %x   # first
%b = elementwise(op=relu,shape=3x5) %x   # second
%c = elementwise(op=abs,shape=3x5) %a
%d = elementwise(op=abs,shape=3x5) %b
output "c" %c f32[3, 5]
output "d" %d f32[3, 5]
)",
                 R"(%a = elementwise(op=relu,shape=3x5,operands=none,dtype=f32) %x   # first
%c = elementwise(op=abs,shape=3x5,operands=none,dtype=f32) %a
output "c" %c f32[3, 5]
output "d" %c f32[3, 5]
)");
}

TEST(ShareNodes, AllOutputsOfANodeAreTheOthers) {
  expect_becomes(&share_nodes, R"(
input "x" %x f32[3, 1, 8]
input "h" %h f32[1, 2]
input "c" %c f32[1, 2]
%r = constant f32[4, 2, 2] [1, -1, 0, 2, 1, 1, 0, 1, 0, 1, -1, 0, 2, 1, 1, 0]
%y, %k = lstm(batch=1,hidden=2,steps=3) %x %r %h %c
%z, %l = lstm(batch=1,hidden=2,steps=3) %x %r %h %c
%s = elementwise(op=mul,shape=3x1x2,operands=same) %y %z
%t = elementwise(op=mul,shape=1x2,operands=same) %k %l
output "s" %s f32[3, 1, 2]
output "t" %t f32[1, 2]
)",
                 R"(%r = constant f32[4, 2, 2] [1, -1, 0, 2, 1, 1, 0, 1, 0, 1, -1, 0, 2, 1, 1, 0]
%y, %k = lstm(batch=1,hidden=2,dtype=f32,f=sigmoid,g=tanh,h=tanh,steps=3) %x %r %h %c
%s = elementwise(op=mul,shape=3x1x2,operands=same,dtype=f32) %y %y
%t = elementwise(op=mul,shape=1x2,operands=same,dtype=f32) %k %k
output "s" %s f32[3, 1, 2]
output "t" %t f32[1, 2]
)");
}

// A difference in the order of inputs, in the type or in an attribute is one.
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
  expect_unchanged(&share_nodes, R"(
input "x" %x s32[3, 3, 3]
%a = transpose(shape=3x3x3,perm=1:2:0,dtype=s32) %x
%b = transpose(shape=3x3x3,perm=2:0:1,dtype=s32) %x
%c = reduce(op=sum,shape=3x3x3,axes=1,dtype=s32) %x
%d = reduce(op=sum,shape=3x3x3,axes=2,dtype=s32) %x
output "a" %a s32[3, 3, 3]
output "b" %b s32[3, 3, 3]
output "c" %c s32[3, 3]
output "d" %d s32[3, 3]
)");
}

}  // namespace
}  // namespace hone
