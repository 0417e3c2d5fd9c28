// Spaces of targets with tiles beside those without.
#include <gmock/gmock.h>

#include "compiler/build/build.h"
#include "compiler/host/arithmetic_peak.h"
#include "compiler/ops/templates/common.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

Space space_of(const char* workload, const char* cpu) {
  return make_space(parse_workload(workload),
                    Target::parse(std::string("llvm -mtriple=x86_64-linux -threads=2 -mcpu=") + cpu));
}

constexpr const char* kWithout = "sapphirerapids -mattr=-amx-tile,-amx-int8,-amx-bf16";

TEST(TileSpaces, AreTheOldOnesWhereTilesHaveNothingToDo) {
  for (const char* text : {"dense(m=64,n=64,k=64)", "conv2d(ci=32,h=8,w=8,co=32)", "dense(m=64,n=64,k=8,dtype=bf16)",
                           "batch_matmul(b=2,m=9,n=3,k=64,dtype=bf16)", "depthwise_conv2d(c=32,h=8,w=8)",
                           "conv2d(ci=3,h=8,w=8,co=32,dtype=bf16,layout=NHWC)",
                           "conv2d(ci=64,h=8,w=8,co=32,dtype=u8:s8:s32:s32,layout=NCHW)"})
    EXPECT_EQ(space_of(text, "sapphirerapids").fingerprint(), space_of(text, kWithout).fingerprint()) << text;
}

// A config of processors without tiles is still one here. (Whether such a row is taken is another
// question: docs/packages.md.) A product's unit, which it does not name, is the default.
TEST(TileSpaces, TakeConfigsOfProcessorsWithoutTiles) {
  for (const char* text :
       {"dense(m=64,n=64,k=64,dtype=bf16)", "dense(m=64,n=64,k=64,dtype=u8:s8:s32:s32)",
        "batch_matmul(b=2,m=64,n=64,k=64,dtype=bf16)", "conv2d(ci=64,h=8,w=8,co=32,dtype=bf16,layout=NCHW16c)"}) {
    const Space tiles = space_of(text, "sapphirerapids"), other = space_of(text, "znver4");
    EXPECT_NE(tiles.fingerprint(), other.fingerprint());
    std::mt19937_64 rng(1);
    for (int i = 0; i < 20; ++i) {
      const Config config = *other.sample(rng);
      const auto adapted = tiles.adapt(other.print(config));
      ASSERT_TRUE(adapted) << other.print(config);
      EXPECT_TRUE(tiles.valid(*adapted));
    }
  }
}

TEST(TileSpaces, HaveTasksThatDoNotReachBehindTheEnd) {
  const std::vector<int64_t> counts{1, 2, 3, 4, 6, 7};
  EXPECT_EQ(usual_chunks(counts, 7, 1), 1);
  EXPECT_EQ(usual_chunks(counts, 7, 2), 7) << "two, four and six chunks reach to the eighth";
  EXPECT_EQ(usual_chunks(counts, 6, 2), 2);
  EXPECT_EQ(usual_chunks(counts, 100, 50), 7) << "there are not so many";
}

TEST(TileSpaces, AreMeasuredByTheRateOfTheUnit) {
  const Target t = Target::parse("llvm -mtriple=x86_64-linux -mcpu=sapphirerapids"),
               without = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4");
  const auto peak = [](const char* workload, const Target& target) {
    return arithmetic_peak({.peak_gflops = 100, .levels = {}}, parse_workload(workload), target);
  };
  EXPECT_EQ(peak("dense(m=64,n=64,k=64,dtype=bf16)", t), 1600);
  EXPECT_EQ(peak("conv2d(ci=64,h=8,w=8,co=32,dtype=u8:s8:s32:s32,layout=NHWC)", t), 3200);
  EXPECT_EQ(peak("dense(m=64,n=64,k=64)", t), 100);
  EXPECT_EQ(peak("elementwise(op=relu,shape=64x64,dtype=bf16)", t), 100);
  EXPECT_EQ(peak("dense(m=64,n=64,k=64,dtype=u8:s8:s32:s32)", without), 400);
  const Target arm = Target::parse("llvm -mtriple=aarch64-linux -mcpu=neoverse-n2"),
               arm_without = Target::parse("llvm -mtriple=aarch64-linux -mcpu=neoverse-n1");
  EXPECT_EQ(peak("dense(m=64,n=64,k=64,dtype=bf16)", arm), 400);
  EXPECT_EQ(peak("dense(m=64,n=64,k=64,dtype=s8:s8:s32:s32)", arm), 800);
  EXPECT_EQ(peak("dense(m=64,n=64,k=64,dtype=u8:s8:s32:s32)", arm_without), 400);
}

}  // namespace
}  // namespace hone
