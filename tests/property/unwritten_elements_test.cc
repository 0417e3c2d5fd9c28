// Kernels of templates compute with no element that was never written: not with padding of packed copies, not in lanes
// and iterations whose results are not used. Such elements are whatever the memory held, and denormal numbers among
// them make a processor a hundred times as slow.
#include <gtest/gtest.h>

#include <random>
#include <span>
#include <utility>

#include "compiler/build/build.h"
#include "compiler/ir/printer.h"
#include "compiler/ops/dtypes.h"
#include "tests/fakes/cpu_workloads.h"
#include "tests/fakes/f16_workloads.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/unwritten_memory.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

// More operations than this take the interpreter too long; smaller workloads have the same tails.
constexpr double kMostFlops = 3e6;
constexpr int kVectorBits[] = {0, 512, 128};  // 0: loop form

class UnwrittenElements : public testing::TestWithParam<const char*> {};

TEST_P(UnwrittenElements, AreComputedWithNowhere) {
  const Workload w = parse_workload(GetParam());
  if (flops(w) > kMostFlops) GTEST_SKIP() << "too many operations to interpret";
  std::mt19937_64 rng(23);
  const Target target = Target::parse(dtypes_of(w).f16_runs ? "llvm -mtriple=aarch64-linux -mcpu=cortex-a76 -threads=2"
                                                            : "llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2");
  const Space space = make_space(w, target);
  const ReferenceRun reference(w, rng);
  int widths = 3;  // the narrower vectors of the default config alone
  for (const Config& config : some_configs(space, flops(w) < kMostFlops / 16 ? 12 : 4, rng)) {
    SCOPED_TRACE(space.print(config));
    const Module m = lower_config(w, target, space, config);
    for (const int bits : std::span(kVectorBits).first(static_cast<size_t>(std::exchange(widths, 2)))) {
      try {
        run_on_unwritten_memory(m, reference.inputs(), bits);
      } catch (const UserError& e) {
        FAIL() << e.what() << ", vectors of " << bits << " bits\n" << to_string(m);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, UnwrittenElements, testing::ValuesIn(kCpuWorkloads));
INSTANTIATE_TEST_SUITE_P(SumsInF16, UnwrittenElements, testing::ValuesIn(kF16SumWorkloads));
INSTANTIATE_TEST_SUITE_P(ProductsOfF16, UnwrittenElements, testing::ValuesIn(kF16ProductWorkloads));

// Blocks of tiles and of pixels that reach beyond the last one.
TEST(UnwrittenElements, OfConvolutionsByEachAlgorithmAreComputedWithNowhere) {
  std::mt19937_64 rng(5);
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=1");
  const Workload w = parse_workload("conv2d(ci=16,h=17,w=23,co=16)");
  const Space space = make_space(w, target);
  const ReferenceRun reference(w, rng);
  for (const std::string algorithm : {"1", "2", "4"})
    for (const Config& config : some_configs(space, 8, rng, "algorithm=" + algorithm)) {
      SCOPED_TRACE(space.print(config));
      EXPECT_NO_THROW(run_on_unwritten_memory(lower_config(w, target, space, config), reference.inputs(), 0));
    }
}

// Tails of every size, packed and not.
TEST(UnwrittenElements, OfProductsWithTailsAreComputedWithNowhere) {
  std::mt19937_64 rng(5);
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=1");
  for (int n = 17; n <= 48; n += 3) {
    const Workload w = parse_workload("batch_matmul(b=2,m=13,n=" + std::to_string(n) + ",k=11)");
    const Space space = make_space(w, target);
    const ReferenceRun reference(w, rng);
    for (const Config& config : some_configs(space, 20, rng)) {
      SCOPED_TRACE(to_string(w) + " " + space.print(config));
      for (const int bits : {0, 512})
        EXPECT_NO_THROW(run_on_unwritten_memory(lower_config(w, target, space, config), reference.inputs(), bits));
    }
  }
}

}  // namespace
}  // namespace hone
