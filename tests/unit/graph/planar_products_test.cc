// 1x1 convolutions of planes as products, one for each group.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;

Graph products_of(const Graph& g) {
  PassContext context = test_context();
  context.lanes = 4;
  return planar_products(g, context);
}

// 12 channels of 3x5 to `co`, with operands of every shape.
Graph conv(int groups, int co) {
  const std::string g = std::to_string(groups), n = std::to_string(co), depth = std::to_string(12 / groups);
  return read_graph("graph g\ninput \"x\" %x f32[1, 12, 3, 5]\ninput \"w\" %w f32[" + n + ", " + depth +
                    ", 1, 1]\ninput \"b\" %b f32[" + n + "]\ninput \"s\" %s f32[1, " + n +
                    ", 3, 5]\ninput \"p\" %p f32[1, 1, 3, 5]\ninput \"c\" %c f32[1, " + n +
                    ", 1, 1]\n%y = conv2d(n=1,ci=12,h=3,w=5,co=" + n + ",kh=1,kw=1,stride=1,pad=0,dilation=1,groups=" +
                    g + ",layout=NCHW,dtype=f32,epilogue=bias+add+mul[1x1x3x5]+add[1x" + n +
                    "x1x1]+relu) %x %w %b %s %p %c\noutput \"y\" %y f32[1, " + n + ", 3, 5]\n");
}

TEST(PlanarProducts, AreTheConvolutions) {
  for (const auto& [groups, co] : {std::pair{1, 5}, {2, 16}, {3, 24}}) {
    const Graph g = conv(groups, co), made = products_of(g);
    EXPECT_THAT(to_string(made), HasSubstr("batch_matmul(b=" + std::to_string(groups)));
    expect_same_values(g, made, 1e-5);
  }
}

// Weights of s8 times an image of u8; words of four are filled up with zeros.
TEST(PlanarProducts, OfBytes) {
  for (const auto& [groups, k] : {std::pair{1, 12}, {2, 8}}) {
    const std::string depth = std::to_string(12 / groups);
    const Graph g = read_graph(
        "graph g\ninput \"x\" %x u8[1, 12, 3, 5]\ninput \"w\" %w s8[16, " + depth +
        ", 1, 1]\ninput \"b\" %b s32[16]\n%y = conv2d(n=1,ci=12,h=3,w=5,co=16,kh=1,kw=1,pad=0,groups=" +
        std::to_string(groups) +
        ",layout=NCHW,dtype=u8:s8:s32:s32,epilogue=bias:f32+mul[0.25]+round+saturate:u8) %x %w %b\noutput \"y\" %y "
        "u8[1, 16, 3, 5]\n");
    const Graph made = products_of(g);
    EXPECT_THAT(to_string(made), HasSubstr("batch_matmul(b=" + std::to_string(groups)));
    EXPECT_THAT(to_string(made), HasSubstr("k=" + std::to_string(k) + ",dtype=s8:u8:s32:s32"));
    EXPECT_EQ(count_of(made, "pad"), groups == 1 ? 0 : 2);
    expect_same_values(g, made);
  }
}

TEST(PlanarProducts, GroupsOfFewChannelsStay) {
  EXPECT_THAT(to_string(products_of(conv(2, 14))), testing::Not(HasSubstr("batch_matmul")));
}

}  // namespace
}  // namespace hone
