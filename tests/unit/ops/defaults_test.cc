// Defaults of templates that depend on more than the operator alone: which part of a layer a thread gets, and which
// algorithm reads how much memory.
#include <gmock/gmock.h>

#include "compiler/build/build.h"
#include "compiler/ir/printer.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string usual(const std::string& workload, int threads) {
  const Target target =
      Target::parse("llvm -mtriple=x86_64-linux -mcpu=x86-64-v4 -l2=2048K -threads=" + std::to_string(threads));
  const Space space = make_space(parse_workload(workload), target);
  return space.describe(space.default_config());
}

std::string text_of(const std::string& workload, int threads) {
  const Target target =
      Target::parse("llvm -mtriple=x86_64-linux -mcpu=x86-64-v4 -l2=2048K -threads=" + std::to_string(threads));
  const Workload w = parse_workload(workload);
  const Space space = make_space(w, target);
  return to_string(lower_config(w, target, space, space.default_config()).kernels.at(0).body);
}

std::string usual_on(const std::string& cpu, const std::string& workload) {
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -l2=512K -threads=1 -mcpu=" + cpu);
  const Space space = make_space(parse_workload(workload), target);
  return space.describe(space.default_config());
}

// Sixteen registers hold six rows of two vectors; ten of one would load more than it multiplies.
TEST(RegisterTiles, AreAsLargeAsTheTargetsRegistersAllow) {
  EXPECT_THAT(usual_on("x86-64-v3", "dense(m=120,n=768,k=192)"), HasSubstr("n_block=16,tile_m=6,"));
  EXPECT_THAT(usual_on("x86-64-v4", "dense(m=120,n=768,k=192)"), HasSubstr("n_block=32,tile_m=12,"));
  EXPECT_THAT(usual_on("x86-64-v3", "dense(m=5,n=768,k=192)"), HasSubstr("n_block=16,tile_m=5,"));
}

// Tiles of 6 columns leave a tail in 14; rows of pixels have none that matters. 14 columns fit 32 registers.
TEST(RegisterTiles, AreRowsOfPixelsWhereNoneFitsAnImagesWidth) {
  const std::string image = "conv2d(ci=64,h=14,w=14,co=64,kh=1,kw=1,pad=0,layout=NCHW8c)";
  EXPECT_THAT(usual_on("x86-64-v3", image), HasSubstr("algorithm=gemm,g_oc_block=16,g_ic_block=8,g_tile_p=6,"));
  EXPECT_THAT(usual_on("x86-64-v4", image), HasSubstr("algorithm=direct"));
  EXPECT_THAT(usual_on("x86-64-v3", "conv2d(n=4,ci=64,h=14,w=14,co=64,kh=1,kw=1,pad=0,layout=NCHW8c)"),
              HasSubstr("algorithm=direct"))
      << "tiles would reach from one image into the next";
  EXPECT_THAT(usual_on("x86-64-v3", "conv2d(ci=64,h=48,w=48,co=64,kh=1,kw=1,pad=0,layout=NCHW8c)"),
              HasSubstr("algorithm=direct,oc_block=16,ic_block=8,tile_ow=8x6,tile_oh=1,"));
}

TEST(RegisterTiles, WasteFewChannels) {
  const std::string image = "conv2d(ci=64,h=48,w=48,co=24,kh=1,kw=1,pad=0,layout=NCHW8c)";
  EXPECT_THAT(usual_on("x86-64-v3", image), HasSubstr("oc_block=24"));
}

// 3.2 MB of pixels would be read four times, once for each tile of channels; the weights fit.
TEST(TasksOfDefaults, ReadImagesOnceThatL2DoesNotHold) {
  const std::string image = "conv2d(ci=256,h=56,w=56,co=64,kh=1,kw=1,stride=2,pad=0,layout=NCHW16c)";
  EXPECT_THAT(usual_on("x86-64-v4", image), HasSubstr("oc_inside=1"));
  EXPECT_THAT(usual_on("x86-64-v4", "conv2d(ci=64,h=14,w=14,co=64,kh=1,kw=1,stride=2,pad=0,layout=NCHW16c)"),
              HasSubstr("oc_inside=0"));
}

// Gathered, the pixels of this image would take more than 2^63 bytes; and threads get as many parts each.
TEST(TasksOfDefaults, AreChosenOfSizesNear2To63) {
  EXPECT_THAT(usual_on("x86-64-v3", "conv2d(ci=8,h=4194304,w=1048576,co=64,kh=63,kw=63,pad=31,layout=NCHW8c)"),
              HasSubstr("oc_inside=1"));
  EXPECT_THAT(usual("conv2d(ci=64,h=90,w=90,co=8192,kh=1,kw=1,stride=2,pad=0,layout=NCHW16c)", 2),
              HasSubstr("tasks_oh=2,"));
}

TEST(ThreadsOfDefaults, HaveRowsOfImagesThatAreLargerThanTheWeights) {
  const std::string image = "conv2d(ci=64,h=28,w=28,co=64,kh=1,kw=1,pad=0,layout=NCHW16c)";
  EXPECT_THAT(usual(image, 2), HasSubstr("tasks_oh=2,pad_at=nowhere,oc_inside=1"));
  EXPECT_THAT(usual(image, 1), HasSubstr("oc_inside=0"));
  EXPECT_THAT(usual(image, 16), HasSubstr("oc_inside=0")) << "28 rows are few for 16 threads";
  EXPECT_THAT(usual("conv2d(ci=512,h=14,w=14,co=512,kh=1,kw=1,pad=0,layout=NCHW16c)", 2), HasSubstr("oc_inside=0"))
      << "each thread would read all weights";
  EXPECT_THAT(usual("depthwise_conv2d(c=64,h=28,w=28,layout=NCHW16c)", 2), HasSubstr("rows_outer=1,tasks_oh=2"));
  EXPECT_THAT(usual("depthwise_conv2d(c=64,h=7,w=7,layout=NCHW16c)", 2), HasSubstr("rows_outer=0"));
  EXPECT_THAT(usual("max_pool2d(c=64,h=56,w=56,layout=NCHW16c)", 2), HasSubstr("rows_outer=1"));
}

TEST(ThreadsOfDefaults, HaveColumnsOfSequences) {
  EXPECT_THAT(usual("conv2d(ci=64,h=1,w=1000,co=32,kh=1,kw=3,pad=0x1,layout=NCHW16c)", 2),
              AllOf(HasSubstr("tasks_oh=2,"), HasSubstr("oc_inside=1,")));
  // Weights that are more than the sequence: parts of the channels, where there are as many.
  EXPECT_THAT(usual("conv2d(ci=256,h=1,w=100,co=256,kh=1,kw=3,pad=0x1,layout=NCHW16c)", 2),
              AllOf(HasSubstr("tasks_oh=1,"), HasSubstr("oc_inside=0,")));
  EXPECT_THAT(usual("conv2d(ci=64,h=1,w=1000,co=32,kh=1,kw=3,pad=0x1,layout=NCHW16c)", 1), HasSubstr("tasks_oh=1,"));
  // A plane of one row gets no tile of four rows: it has only one, and all elements would be gathered instead.
  EXPECT_THAT(usual("conv2d(ci=32,h=1,w=4000,co=1,kh=1,kw=2,pad=0:1:0:0,layout=NCHW)", 2),
              AllOf(HasSubstr("algorithm=planar,"), HasSubstr("p_tile_oh=1,p_tasks_oh=16,")));
}

TEST(WinogradByDefault, IsForWeightsThatMeetManyPixels) {
  EXPECT_THAT(usual("conv2d(ci=64,h=56,w=56,co=64,layout=NCHW16c)", 1), HasSubstr("algorithm=winograd4"));
  EXPECT_THAT(usual("conv2d(ci=512,h=7,w=7,co=512,layout=NCHW16c)", 1), HasSubstr("algorithm=direct"));
}

TEST(WinogradByDefault, ReadsWeightsOnceThatL2DoesNotHold) {
  EXPECT_THAT(usual("conv2d(ci=256,h=14,w=14,co=256,layout=NCHW16c)", 2), HasSubstr("w_input_in_task=0,w_oc_outer=1"));
  EXPECT_THAT(usual("conv2d(ci=64,h=56,w=56,co=64,layout=NCHW16c)", 2), HasSubstr("w_input_in_task=1"));
}

// 25 tiles in 3 blocks of 12 would keep one of two threads waiting for a third of the time.
TEST(WinogradByDefault, GivesThreadsAsManyBlocks) {
  const std::string image = "conv2d(ci=128,h=20,w=20,co=80,layout=NCHW16c)";
  EXPECT_THAT(usual(image, 1), HasSubstr("algorithm=winograd4"));
  for (const int threads : {2, 4}) {
    const auto choice = [config = usual(image, threads)](const std::string& knob) {
      return std::stoi(config.substr(config.find(knob + "=") + knob.size() + 1));
    };
    const int block = choice("w_tile_p") * choice("w_block_p"), blocks = (25 + block - 1) / block;
    EXPECT_EQ(blocks % threads, 0) << usual(image, threads);
  }
}

TEST(Prefetches, AreOfWeightsThatL1DoesNotHold) {
  EXPECT_THAT(text_of("conv2d(ci=256,h=14,w=14,co=256,kh=1,kw=1,pad=0,layout=NCHW16c)", 1),
              HasSubstr("prefetch weight["));
  EXPECT_THAT(text_of("conv2d(ci=16,h=14,w=14,co=16,kh=1,kw=1,pad=0,layout=NCHW16c)", 1),
              testing::Not(HasSubstr("prefetch")));
  EXPECT_THAT(text_of("conv2d(ci=256,h=14,w=14,co=256,layout=NCHW16c)", 1), HasSubstr("prefetch weight_tiles["));
  EXPECT_THAT(text_of("dense(m=128,n=384,k=384)", 1), HasSubstr("prefetch b["));
  EXPECT_THAT(text_of("dense(m=1,n=384,k=384)", 1), testing::Not(HasSubstr("prefetch"))) << "one row is a stream";
}

TEST(Prefetches, AreOfInputsThatAnotherThreadWrote) {
  const std::string workload = "conv2d(ci=64,h=14,w=14,co=64,kh=1,kw=1,pad=0,layout=NCHW16c)";
  EXPECT_THAT(text_of(workload, 2), HasSubstr("prefetch data["));
  EXPECT_THAT(text_of(workload, 1), testing::Not(HasSubstr("prefetch data[")));
  const std::string behind = "conv2d(ci=64,h=14,w=14,co=64,kh=1,kw=1,pad=0,layout=NCHW16c,prologue=mul[c]+relu)";
  EXPECT_THAT(text_of(behind, 2), testing::Not(HasSubstr("prefetch data["))) << "what is multiplied is computed first";
}

// Where a block of input channels is unrolled as a whole the weights' prefetch is at the loop over the blocks already.
TEST(Prefetches, OfWeightsAndInputsDoNotMeet) {
  const Workload w = parse_workload("conv2d(ci=256,h=14,w=14,co=256,kh=1,kw=1,pad=0,layout=NCHW8c)");
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=x86-64-v4 -threads=2");
  const Space space = make_space(w, target);
  std::mt19937_64 rng(3);
  int whole = 0;
  for (int i = 0; i < 400; ++i) {
    const Config config = *space.sample(rng);
    const std::string text = space.print(config);
    if (text.find("unroll_ic=8") == std::string::npos || text.find("algorithm=0") == std::string::npos) continue;
    ++whole;
    EXPECT_NO_THROW(lower_config(w, target, space, config)) << text;
  }
  EXPECT_GT(whole, 5);
}

}  // namespace
}  // namespace hone
