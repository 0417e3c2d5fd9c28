// Tensors without dimensions.
#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "tests/fakes/programs.h"

namespace hone {
namespace {

TEST(Lower, ATensorWithoutDimensionsIsOneElement) {
  const Tensor a = placeholder("a", {6}, i32), bias = placeholder("bias", {}, i32);
  const Tensor total = compute_reduce("total", {}, {}, {a, bias}, [&](const auto&) {
    const Axis r = reduce_axis("r", 6);
    return sum(a(Expr(r)) * bias.at({}), {r});
  });
  const Schedule schedule({{a, ParamRole::kInput}, {bias, ParamRole::kConstant}}, total);
  const Module m = lower(schedule, {});
  ASSERT_EQ(m.params.size(), 3U);
  for (const size_t i : {1U, 2U}) {
    EXPECT_EQ(m.params[i].shape, std::vector<int64_t>{1}) << m.params[i].name;
    EXPECT_EQ(m.params[i].layout, Layout::identity({1})) << m.params[i].name;
  }
  for (const Buffer& b : m.kernels.at(0).params) EXPECT_EQ(b->shape.size(), 1U) << b->name;
  std::vector<int32_t> values = {1, 2, 3, 4, 5, 6}, factor = {3}, out = {0};
  interpret(m.kernels[0], {{values.data(), 6}, {factor.data(), 1}, {out.data(), 1}});
  EXPECT_EQ(out[0], 63);
}

}  // namespace
}  // namespace hone
