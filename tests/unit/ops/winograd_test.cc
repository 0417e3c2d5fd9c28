#include "compiler/ops/windows/winograd.h"
#include "compiler/codegen/llvm/machine/host_target.h"

#include <gtest/gtest.h>

#include <random>

#include "compiler/build/build.h"
#include "compiler/lower/layout_functions.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

std::vector<double> times(const Matrix& m, const std::vector<double>& x) {
  std::vector<double> out;
  for (const auto& row : m) {
    out.push_back(0);
    for (size_t k = 0; k < row.size(); ++k) out.back() += row[k] * x[k];
  }
  return out;
}

TEST(Winograd, MatricesFilter) {
  std::mt19937_64 rng(1);
  const auto draw = [&] { return static_cast<double>(rng() % 2001) / 1000 - 1; };
  for (const int m : {2, 4, 6}) {
    const WinogradMatrices w = winograd_matrices(m, 3);
    std::vector<double> d(static_cast<size_t>(w.alpha)), g(3);
    for (double& x : d) x = draw();
    for (double& x : g) x = draw();
    std::vector<double> products = times(w.g, g);
    const std::vector<double> tile = times(w.b_t, d);
    for (size_t i = 0; i < products.size(); ++i) products[i] *= tile[i];
    const std::vector<double> y = times(w.a_t, products);
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_NEAR(y[i], d[i] * g[0] + d[i + 1] * g[1] + d[i + 2] * g[2], 1e-12) << "F(" << m << ", 3) output " << i;
  }
}

TEST(Winograd, AppliesToDenseThreeByThreeFiltersOnly) {
  const Workload w = parse_workload("conv2d(ci=20,h=9,w=9,co=7)");
  EXPECT_TRUE(winograd_applies(w, 2));
  EXPECT_TRUE(winograd_applies(w, 4));
  EXPECT_FALSE(winograd_applies(w, 6)) << "too few channels for its error";
  for (const char* other : {"conv2d(ci=20,h=9,w=9,co=7,stride=2)", "conv2d(ci=20,h=9,w=9,co=7,dilation=2)",
                            "conv2d(ci=20,h=9,w=9,co=8,groups=2)", "conv2d(ci=20,h=9,w=9,co=7,kh=1,kw=1)",
                            "conv2d(ci=20,h=9,w=9,co=7,dtype=u8:s8:s32:s32)", "depthwise_conv2d(c=20,h=9,w=9)"})
    EXPECT_FALSE(winograd_applies(parse_workload(other), 2)) << other;
}

struct WinogradCase {
  const char* workload;
  int m;
};

class WinogradConfigs : public testing::TestWithParam<WinogradCase> {};

TEST_P(WinogradConfigs, ComputeWhatTheReferenceComputes) {
  expect_configs_match_reference(parse_workload(GetParam().workload), 4, 1,
                                 "algorithm=" + std::to_string(GetParam().m) + ",");
}

// Tiles that divide the output and that do not, one row, several images, borders of one side, odd channels, epilogues,
// layouts.
INSTANTIATE_TEST_SUITE_P(
    Shapes, WinogradConfigs,
    testing::Values(
        WinogradCase{"conv2d(ci=16,h=12,w=12,co=32)", 2}, WinogradCase{"conv2d(ci=16,h=12,w=12,co=32)", 4},
        WinogradCase{"conv2d(ci=48,h=12,w=12,co=32)", 6}, WinogradCase{"conv2d(n=2,ci=20,h=7,w=9,co=35)", 2},
        WinogradCase{"conv2d(n=2,ci=20,h=7,w=9,co=35)", 4}, WinogradCase{"conv2d(n=2,ci=50,h=7,w=9,co=35)", 6},
        WinogradCase{"conv2d(ci=3,h=3,w=17,co=5,pad=0)", 2}, WinogradCase{"conv2d(ci=17,h=3,w=17,co=5,pad=0)", 4},
        WinogradCase{"conv2d(ci=21,h=5,w=6,co=48,pad=2:0:1:1,epilogue=bias+add+relu)", 4},
        WinogradCase{"conv2d(ci=24,h=10,w=11,co=24,layout=NHWC,epilogue=relu)", 4},
        WinogradCase{"conv2d(ci=16,h=8,w=8,co=16,layout=NCHW8c:16c)", 2},
        WinogradCase{"conv2d(ci=16,h=8,w=9,co=40,layout=NCHW8c,epilogue=bias+add)", 4},
        WinogradCase{"conv2d(ci=48,h=13,w=8,co=64,layout=NCHW16c,epilogue=relu)", 6},
        WinogradCase{"conv2d(ci=16,h=8,w=8,co=16,dtype=f64)", 4}));

// The plain entry of an artifact transforms the weights inside of each call.
TEST(Winograd, PlainEntryTransformsWeightsItself) {
  const Workload w = parse_workload("conv2d(ci=16,h=9,w=10,co=20,epilogue=bias)");
  const Target target = host_target(2);
  const Space space = make_space(w, target);
  std::mt19937_64 rng(5);
  auto config = space.sample(rng);
  while (!space.print(*config).starts_with("algorithm=4")) config = space.sample(rng);
  const Module m = lower_config(w, target, space, *config), plain = plain_module(m);
  EXPECT_EQ(m.prepacks.size(), 1u);
  EXPECT_TRUE(plain.prepacks.empty());
  LocalKernel packed(m, target), whole(plain, target);
  for (size_t i = 0; i + 1 < m.params.size(); ++i) {
    const auto elements = random_elements(f32, element_count(m.params[i].shape), rng);
    packed.set_input(i, elements.data());
    whole.set_input(i, elements.data());
  }
  ASSERT_EQ(packed.run(), HONE_OK);
  ASSERT_EQ(whole.run(), HONE_OK);
  EXPECT_EQ(whole.get_output(m.params.size() - 1), packed.get_output(m.params.size() - 1));
}

}  // namespace
}  // namespace hone
