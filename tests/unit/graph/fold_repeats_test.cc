// Matrices that are repeated for the heads of a group.
#include <gmock/gmock.h>

#include "compiler/graph/element_text.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

// Two heads of keys and values for six heads of queries, as exporters expand them.
const std::string kDecode = R"(
input "q" %q f32[1, 6, 1, 4]
input "k" %k f32[1, 2, 7, 4]
input "v" %v f32[1, 2, 7, 3]
input "mask" %mask f32[1, 1, 1, 7]
%k5 = reshape(shape=1x2x7x4,to=1x2x1x7x4,dtype=f32) %k
%ke = broadcast(shape=1x2x1x7x4,to=1x2x3x7x4,dtype=f32) %k5
%k4 = reshape(shape=1x2x3x7x4,to=1x6x7x4,dtype=f32) %ke
%kt = transpose(shape=1x6x7x4,perm=0:1:3:2,dtype=f32) %k4
%k3 = reshape(shape=1x6x4x7,to=6x4x7,dtype=f32) %kt
%q3 = reshape(shape=1x6x1x4,to=6x1x4,dtype=f32) %q
%s3 = batch_matmul(b=6,m=1,n=7,k=4,dtype=f32,epilogue=none) %q3 %k3
%s = reshape(shape=6x1x7,to=1x6x1x7,dtype=f32) %s3
%x = elementwise(op=mul[0.5]+add,shape=1x6x1x7,operands=1x1x1x7,dtype=f32) %s %mask
%p = softmax(shape=1x6x1x7,axis=3,dtype=f32,epilogue=none) %x
%p3 = reshape(shape=1x6x1x7,to=6x1x7,dtype=f32) %p
%v5 = reshape(shape=1x2x7x3,to=1x2x1x7x3,dtype=f32) %v
%ve = broadcast(shape=1x2x1x7x3,to=1x2x3x7x3,dtype=f32) %v5
%v3 = reshape(shape=1x2x3x7x3,to=6x7x3,dtype=f32) %ve
%y = batch_matmul(b=6,m=1,n=3,k=7,dtype=f32,epilogue=none) %p3 %v3
output "y" %y f32[6, 1, 3]
)";

TEST(FoldRepeats, HeadsOfAGroupAreRowsOfOneProduct) {
  const Graph g = read_graph("graph g\n" + kDecode), folded = fold_repeats(g, test_context());
  const std::string text = lines_of(folded);
  EXPECT_THAT(text, testing::HasSubstr("batch_matmul(b=2,m=3,n=7,k=4,"));
  EXPECT_THAT(text, testing::HasSubstr("batch_matmul(b=2,m=3,n=3,k=7,"));
  EXPECT_THAT(text, testing::HasSubstr("transpose(shape=2x7x4,perm=0:2:1,"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("broadcast")));
  expect_same_values(g, folded, 1e-6);
}

TEST(FoldRepeats, BecomeOneAttention) {
  const Graph given = read_graph("graph g\n" + kDecode);
  Graph g = given;
  for (const Pass<Graph>& pass : graph_passes(test_context())) g = pass.run(g);
  EXPECT_THAT(lines_of(g), testing::HasSubstr("attention(b=2,m=3,n=7,k=4,v=3,dtype=f32,scores=mul[0.5]+add[1x1x7],"));
  expect_same_values(given, g, 1e-6);
}

TEST(FoldRepeats, OtherRepeatsStay) {
  // Several queries: their masks differ by the row.
  expect_unchanged(&fold_repeats, R"(
input "q" %q f32[6, 2, 4]
input "k" %k f32[2, 1, 4, 7]
%e = broadcast(shape=2x1x4x7,to=2x3x4x7,dtype=f32) %k
%k3 = reshape(shape=2x3x4x7,to=6x4x7,dtype=f32) %e
%y = batch_matmul(b=6,m=2,n=7,k=4,dtype=f32,epilogue=none) %q %k3
output "y" %y f32[6, 2, 7]
)");
  // The heads as a whole are repeated, not each of them: 0 1 0 1 0 1.
  expect_unchanged(&fold_repeats, R"(
input "q" %q f32[6, 1, 4]
input "k" %k f32[1, 2, 4, 7]
%e = broadcast(shape=1x2x4x7,to=3x2x4x7,dtype=f32) %k
%k3 = reshape(shape=3x2x4x7,to=6x4x7,dtype=f32) %e
%y = batch_matmul(b=6,m=1,n=7,k=4,dtype=f32,epilogue=none) %q %k3
output "y" %y f32[6, 1, 7]
)");
  // A transpose that moves heads, and a repeat within the matrices.
  expect_unchanged(&fold_repeats, R"(
input "q" %q f32[6, 1, 4]
input "k" %k f32[2, 1, 7, 4]
%e = broadcast(shape=2x1x7x4,to=2x3x7x4,dtype=f32) %k
%t = transpose(shape=2x3x7x4,perm=1:0:3:2,dtype=f32) %e
%k3 = reshape(shape=3x2x4x7,to=6x4x7,dtype=f32) %t
%y = batch_matmul(b=6,m=1,n=7,k=4,dtype=f32,epilogue=none) %q %k3
output "y" %y f32[6, 1, 7]
)");
  expect_unchanged(&fold_repeats, R"(
input "q" %q f32[6, 1, 4]
input "k" %k f32[6, 1, 7]
%e = broadcast(shape=6x1x7,to=6x4x7,dtype=f32) %k
%y = batch_matmul(b=6,m=1,n=7,k=4,dtype=f32,epilogue=none) %q %e
output "y" %y f32[6, 1, 7]
)");
}

}  // namespace
}  // namespace hone
