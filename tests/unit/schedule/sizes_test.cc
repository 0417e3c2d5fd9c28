// Named sizes: definitions that are bound to numbers.
#include "compiler/te/sizes.h"

#include <gmock/gmock.h>

#include "base/check.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A tensor with extents that are open.
Tensor with_sizes(const Tensor& t, std::vector<Expr> written) {
  TensorNode* node = copied_node(*t.node());
  node->written_extents = std::move(written);
  node->is_open = true;
  return Tensor(Ref<const TensorNode>(node));
}

struct Open {
  Var n = size_named("n"), m = size_named("m");
  Tensor x = with_sizes(placeholder("x", {1}, f32), {n});
  Tensor y = with_sizes(compute("y", {1, 3}, {"i", "j"}, {x},
                                [&](const auto& i) { return select(lt(i[0], Expr(n)), x(i[0]), make_const(0, f32)); }),
                        {Expr(n) * 2 + Expr(m), make_int(3)});
  Tensor z = compute("z", {1}, {"i"}, {y, x}, [&](const auto& i) { return y(i[0], make_int(0)) + x(i[0]); });
};

TEST(Sizes, HaveOneVariableEach) {
  EXPECT_TRUE(size_named("n").same_as(size_named("n")));
  EXPECT_FALSE(size_named("n").same_as(size_named("m")));
  EXPECT_TRUE(is_size(size_named("n").get()));
  EXPECT_FALSE(is_size(Var("n").get()));
  for (const char* wrong : {"", "1", "a b", "n\n"}) EXPECT_THROW(size_named(wrong), UserError) << wrong;
}

TEST(Sizes, GetNumbers) {
  const Open open;
  EXPECT_THAT(sizes_of({open.z}), ElementsAre("n", "m"));
  const std::vector<Tensor> bound = bind_sizes({open.z, open.x}, {{"n", 4}, {"m", 1}});
  const TensorNode& z = *bound[0].node();
  const TensorNode& y = *z.inputs[0];
  EXPECT_THAT(y.shape, ElementsAre(9, 3));
  EXPECT_EQ(y.axes[0].extent, 9);
  EXPECT_FALSE(y.is_open);
  EXPECT_TRUE(z.inputs[1].same_as(bound[1].node())) << "one tensor stays one";
  EXPECT_TRUE(y.inputs[0].same_as(bound[1].node()));
  EXPECT_THAT(bound[1]->shape, ElementsAre(4));
  EXPECT_TRUE(sizes_of(bound).empty());
  EXPECT_TRUE(open.x->is_open) << "the definition is what it was";
  const Tensor plain = placeholder("p", {2}, f32);
  EXPECT_TRUE(bind_sizes({plain}, {})[0].node().same_as(plain.node()));
}

TEST(Sizes, AreAllThatIsGiven) {
  const Open open;
  const auto refusal = [&](const std::map<std::string, int64_t>& numbers) {
    try {
      bind_sizes({open.z}, numbers);
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal({}), "sizes: n, m have no number");
  EXPECT_EQ(refusal({{"n", 1}}), "sizes: m has no number");
  EXPECT_EQ(refusal({{"n", 1}, {"m", 1}, {"k", 1}}), "sizes: there is no 'k' in the definition; there are n, m");
  EXPECT_THAT(refusal({{"n", 1}, {"m", -2}}), HasSubstr("of 'y' is 0"));
  EXPECT_THAT(refusal({{"n", 1}, {"m", INT64_MAX}}), HasSubstr("is none: 2 and 9223372036854775807"))
      << "it would wrap";
}

}  // namespace
}  // namespace hone
