// Transposes and reshapes: fewer, or none.
#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

TEST(SimplifyMovement, ATransposeOfOnesIsAReshape) {
  expect_becomes(&simplify_movement, R"(
input "x" %x f32[1, 3, 1, 5]
%t = transpose(shape=1x3x1x5,perm=1:0:3:2) %x
output "y" %t f32[3, 1, 5, 1]
)",
                 R"(%t = reshape(shape=1x3x1x5,to=3x1x5x1,dtype=f32) %x
output "y" %t f32[3, 1, 5, 1]
)");
}

TEST(SimplifyMovement, TransposesBecomeOne) {
  expect_becomes(&simplify_movement, R"(
input "x" %x f16[2, 3, 5]
%a = transpose(shape=2x3x5,perm=1:2:0,dtype=f16) %x
%b = transpose(shape=3x5x2,perm=0:2:1,dtype=f16) %a
output "y" %b f16[3, 2, 5]
)",
                 R"(%b = transpose(shape=2x3x5,perm=1:0:2,dtype=f16) %x
output "y" %b f16[3, 2, 5]
)");
}

// Each is joined to what the one in front of it has become.
TEST(SimplifyMovement, ManyTransposesBecomeOne) {
  expect_becomes(&simplify_movement, R"(
input "x" %x s64[2, 3, 5, 7]
%a = transpose(shape=2x3x5x7,perm=1:2:3:0,dtype=s64) %x
%b = transpose(shape=3x5x7x2,perm=2:0:3:1,dtype=s64) %a
%c = transpose(shape=7x3x2x5,perm=3:2:1:0,dtype=s64) %b
output "y" %c s64[5, 2, 3, 7]
)",
                 R"(%c = transpose(shape=2x3x5x7,perm=2:0:1:3,dtype=s64) %x
output "y" %c s64[5, 2, 3, 7]
)");
}

TEST(SimplifyMovement, TransposesThatLeaveOnesMovedAreAReshape) {
  expect_becomes(&simplify_movement, R"(
input "x" %x u8[3, 1, 5]
%a = transpose(shape=3x1x5,perm=2:0:1,dtype=u8) %x
%b = transpose(shape=5x3x1,perm=2:1:0,dtype=u8) %a
output "y" %b u8[1, 3, 5]
)",
                 R"(%b = reshape(shape=3x1x5,to=1x3x5,dtype=u8) %x
output "y" %b u8[1, 3, 5]
)");
}

TEST(SimplifyMovement, ATransposeAndItsInverseAreNone) {
  expect_becomes(&simplify_movement, R"(
input "x" %x f32[2, 3, 5]
%a = transpose(shape=2x3x5,perm=1:2:0) %x
%b = transpose(shape=3x5x2,perm=2:0:1) %a
%r = reshape(shape=2x3x5,to=2x3x5) %b
%y = elementwise(op=relu,shape=2x3x5) %r
output "y" %y f32[2, 3, 5]
)",
                 R"(%y = elementwise(op=relu,shape=2x3x5,operands=none,dtype=f32) %x
output "y" %y f32[2, 3, 5]
)");
}

TEST(SimplifyMovement, ATransposeThatOthersReadStaysForThem) {
  expect_becomes(&simplify_movement, R"(
input "x" %x bool[2, 3, 5]
%a = transpose(shape=2x3x5,perm=1:2:0,dtype=bool) %x
%b = transpose(shape=3x5x2,perm=0:2:1,dtype=bool) %a
output "a" %a bool[3, 5, 2]
output "b" %b bool[3, 2, 5]
)",
                 R"(%a = transpose(shape=2x3x5,perm=1:2:0,dtype=bool) %x
%b = transpose(shape=2x3x5,perm=1:0:2,dtype=bool) %x
output "a" %a bool[3, 5, 2]
output "b" %b bool[3, 2, 5]
)");
}

TEST(SimplifyMovement, ReshapesBecomeOneAndTheFirstStaysForOthers) {
  expect_becomes(&simplify_movement, R"(
input "x" %x f32[2, 3]
%a = reshape(shape=2x3,to=6) %x
%b = reshape(shape=6,to=3x2) %a
%c = elementwise(op=relu,shape=6) %a
output "b" %b f32[3, 2]
output "c" %c f32[6]
)",
                 R"(%a = reshape(shape=2x3,to=6,dtype=f32) %x
%b = reshape(shape=2x3,to=3x2,dtype=f32) %x
%c = elementwise(op=relu,shape=6,operands=none,dtype=f32) %a
output "b" %b f32[3, 2]
output "c" %c f32[6]
)");
}

TEST(SimplifyMovement, AReshapeToItsOwnShapeIsNone) {
  expect_becomes(&simplify_movement, R"(
input "x" %x s16[3, 5]
%a = reshape(shape=3x5,to=3x5,dtype=s16) %x
%y = elementwise(op=abs,shape=3x5,dtype=s16) %a
output "y" %y s16[3, 5]
)",
                 R"(%y = elementwise(op=abs,shape=3x5,operands=none,dtype=s16) %x
output "y" %y s16[3, 5]
)");
}

// A transpose that has become a reshape is one for the reshape in front of it, and for the one behind.
TEST(SimplifyMovement, TransposesOfOnesAreJoinedToReshapes) {
  expect_becomes(&simplify_movement, R"(
input "x" %x f64[7, 3]
%a = reshape(shape=7x3,to=1x7x3,dtype=f64) %x
%t = transpose(shape=1x7x3,perm=1:0:2,dtype=f64) %a
%b = reshape(shape=7x1x3,to=3x7,dtype=f64) %t
output "t" %t f64[7, 1, 3]
output "y" %b f64[3, 7]
)",
                 R"(%t = reshape(shape=7x3,to=7x1x3,dtype=f64) %x
%b = reshape(shape=7x3,to=3x7,dtype=f64) %x
output "t" %t f64[7, 1, 3]
output "y" %b f64[3, 7]
)");
}

TEST(SimplifyMovement, AnOutputMayBeTheInput) {
  expect_becomes(&simplify_movement, R"(
input "x" %x f32[2, 3]
%a = reshape(shape=2x3,to=6) %x
%b = reshape(shape=6,to=2x3) %a
output "b" %b f32[2, 3]
)",
                 "output \"b\" %x f32[2, 3]\n");
}

// The shape is that of the input again, and the elements are others.
TEST(SimplifyMovement, WhatMovesStays) {
  expect_unchanged(&simplify_movement, R"(
input "x" %x f32[2, 3]
%a = transpose(shape=2x3,perm=1:0) %x
%b = reshape(shape=3x2,to=2x3) %a
%c = transpose(shape=2x3,perm=1:0) %b
output "c" %c f32[3, 2]
)");
  expect_unchanged(&simplify_movement, R"(
input "x" %x f32[3, 3]
%a = transpose(shape=3x3,perm=1:0) %x
output "a" %a f32[3, 3]
)");
}

}  // namespace
}  // namespace hone
