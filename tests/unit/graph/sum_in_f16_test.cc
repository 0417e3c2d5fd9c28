// --accumulate f16: which products are summed in f16.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

TEST(SumInF16, IsOfProductsOfF16) {
  const Graph g = read_graph(
      "graph g\ninput \"x\" %x f16[3, 300]\ninput \"w\" %w f16[6, 300]\ninput \"c\" %c f16[6]\n"
      "%y = dense(m=3,n=6,k=300,dtype=f16,epilogue=bias+relu) %x %w %c\n"
      "%z = dense(m=3,n=6,k=300,dtype=f16:f16:f32:f32,epilogue=none) %x %w\noutput \"y\" %y f16[3, 6]\n"
      "output \"z\" %z f32[3, 6]\n");
  const Graph made = sum_in_f16(g, test_context());
  EXPECT_THAT(to_string(made), HasSubstr("dense(m=3,n=6,k=300,dtype=f16:f16:f16:f16,epilogue=bias+relu)"));
  EXPECT_THAT(to_string(made), HasSubstr("dense(m=3,n=6,k=300,dtype=f16:f16:f16:f32,epilogue=none)"));
  // 300 products of numbers below 1 in three runs of 100: their sizes add up to 75 at most, and each rounds by (100 +
  // 4) / 2048 of its size in the worst case, by far less here.
  expect_same_values(g, made, 0.05);
}

TEST(SumInF16, LeavesTheOthers) {
  const Graph g = read_graph(
      "graph g\ninput \"x\" %x f32[3, 8]\ninput \"w\" %w f32[6, 8]\ninput \"h\" %h f16[3, 8]\n"
      "input \"u\" %u u8[3, 8]\ninput \"s\" %s s8[6, 8]\n%y = dense(m=3,n=6,k=8,dtype=f32,epilogue=none) %x %w\n"
      "%e = elementwise(op=relu,shape=3x8,operands=none,dtype=f16) %h\n%r = softmax(shape=3x8,axis=-1,dtype=f16) %h\n"
      "%b = dense(m=3,n=6,k=8,dtype=u8:s8:s32:s32,epilogue=none) %u %s\noutput \"y\" %y f32[3, 6]\n"
      "output \"e\" %e f16[3, 8]\noutput \"r\" %r f16[3, 8]\noutput \"b\" %b s32[3, 6]\n");
  EXPECT_EQ(to_string(sum_in_f16(g, test_context())), to_string(g));
}

TEST(SumInF16, ComesBeforeTimesAreCompared) {
  PassContext context = test_context();
  EXPECT_THAT(names_of(graph_passes(context)), testing::Not(HasSubstr("sum_in_f16")));
  context.sums_in_f16 = true;
  EXPECT_THAT(names_of(graph_passes(context)), HasSubstr("lift_numbers, sum_in_f16, merge_siblings"));
}

}  // namespace
}  // namespace hone
