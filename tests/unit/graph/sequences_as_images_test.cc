// Nodes on sequences between convolutions work on images of one row.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

TEST(SequencesAsImages, FunctionsConcatsAndSlices) {
  const Graph g = read_graph(R"(graph g
input "x" %x f32[2, 8, 1, 9]
input "z" %z f32[2, 4, 9]
%b = constant f32[1, 4, 1] fill 3
%s = reshape(shape=2x8x1x9,to=2x8x9) %x
%a = slice(shape=2x8x9,begin=0:4:0,step=1:1:1,size=2x4x9) %s
%f = elementwise(op=mul+add+relu,shape=2x4x9,operands=1x4x1:same) %a %b %z
%c = concat(shapes=2x4x9:2x8x9,axis=1) %f %s
%d = concat(shapes=2x12x9:2x12x9,axis=2) %c %c
output "d" %d f32[2, 12, 18]
)");
  const Graph made = simplify_movement(sequences_as_images(g, test_context()), test_context());
  expect_same_values(g, made);
  const std::string text = to_string(made);
  EXPECT_THAT(text, HasSubstr("slice(shape=2x8x1x9,begin=0:4:0:0,step=1:1:1:1,size=2x4x1x9"));
  EXPECT_THAT(text, HasSubstr("operands=1x4x1x1:same"));
  EXPECT_THAT(text, HasSubstr("axis=3"));
  EXPECT_EQ(count_of(made, "reshape"), 2) << text;  // of %z and of the output
}

TEST(SequencesAsImages, OthersStay) {
  // Rows of words, which no convolution gave; an image of several rows, seen as a sequence.
  for (const std::string lines : {R"(
input "x" %x f32[2, 8, 9]
%y = elementwise(op=relu,shape=2x8x9) %x
output "y" %y f32[2, 8, 9]
)",
                                  R"(
input "x" %x f32[2, 8, 3, 3]
%s = reshape(shape=2x8x3x3,to=2x8x9) %x
%y = elementwise(op=relu,shape=2x8x9) %s
output "y" %y f32[2, 8, 9]
)"})
    expect_unchanged(&sequences_as_images, lines);
}

}  // namespace
}  // namespace hone
