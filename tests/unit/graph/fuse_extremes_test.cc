// Least and greatest elements of a tensor as outputs of the operator that makes it.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

constexpr const char* kBoth = R"(graph g
input "x" %x f32[5, 6]
input "w" %w f32[8, 6]
%y = dense(m=5,n=8,k=6,epilogue=relu) %x %w
%s = reshape(shape=5x8,to=1x5x2x4) %y
%t = transpose(shape=1x5x2x4,perm=0:2:1:3) %s
%least = reduce(op=min,shape=1x2x5x4,axes=all,epilogue=min[0]) %t
%one = reshape(shape=1,to=1x1) %least
%most = reduce(op=max,shape=5x8,axes=all,keepdims=1,epilogue=sub+x=s+equal[0]:f32+add[s]) %y %one
output "least" %least f32[1]
output "most" %most f32[1, 1]
output "t" %t f32[1, 2, 5, 4]
)";

TEST(FuseExtremes, AreOutputsOfWhatMakesThem) {
  const Graph g = read_graph(kBoth), made = fuse_extremes(g, test_context());
  EXPECT_EQ(count_of(made, "reduce"), 0) << to_string(made);
  EXPECT_THAT(to_string(made), testing::HasSubstr("%y, %y_least, %y_most = dense(m=5,n=8,k=6,dtype=f32,epilogue=relu,"
                                                  "extremes=1) %x %w"));
  EXPECT_EQ(count_of(made, "elementwise"), 2);
  expect_same_values(g, made);
}

TEST(FuseExtremes, OneOfThemAlone) {
  const Graph g = read_graph(
      "graph g\ninput \"x\" %x f32[3, 4]\n%y = layer_norm(shape=3x4,scale=0,bias=0) %x\n"
      "%m = reduce(op=max,shape=3x4,axes=all) %y\noutput \"m\" %m f32[1]\n");
  const Graph made = fuse_extremes(g, test_context());
  EXPECT_EQ(count_of(made, "reduce"), 0) << to_string(made);
  expect_same_values(g, made);
}

TEST(FuseExtremes, OthersStay) {
  for (const auto& [reduction, shape] : {std::pair("reduce(op=sum,shape=3x4,axes=all)", "1"),
                                         {"reduce(op=max,shape=3x4,axes=1)", "3"},
                                         {"reduce(op=max,shape=3x4,axes=0,keepdims=1)", "1, 4"}}) {
    const Graph g =
        read_graph(std::string("graph g\ninput \"x\" %x f32[3, 4]\n%y = elementwise(op=exp,shape=3x4) %x\n") +
                   "%m = " + reduction + " %y\noutput \"m\" %m f32[" + shape + "]\n");
    EXPECT_EQ(to_string(fuse_extremes(g, test_context())), to_string(g));
  }
  // A tensor that the caller gives, or that only moves make, is left as it is.
  const Graph given = read_graph(
      "graph g\ninput \"x\" %x f32[3, 4]\n%y = transpose(shape=3x4,perm=1:0) %x\n"
      "%m = reduce(op=max,shape=4x3,axes=all) %y\noutput \"m\" %m f32[1]\n");
  EXPECT_EQ(to_string(fuse_extremes(given, test_context())), to_string(given));
}

}  // namespace
}  // namespace hone
