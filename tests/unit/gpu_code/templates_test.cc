// Configs of the GPU templates: loop form and the threads' program, interpreted (which faults on races, and on
// arithmetic with unwritten elements), against the reference.
#include <gtest/gtest.h>

#include <cctype>
#include <sstream>

#include "compiler/arith/verify.h"
#include "compiler/codegen/gpu/emit.h"
#include "compiler/ir/printer.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/interpreted.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

class GpuTemplates : public testing::TestWithParam<const char*> {};

TEST_P(GpuTemplates, ComputeWhatTheReferenceComputesWithoutRaces) {
  const Workload w = parse_workload(GetParam());
  std::mt19937_64 rng(11);
  const ReferenceRun reference(w, rng);
  for (const char* kind : {"cuda", "opencl"}) {
    const Target target = small_gpu(kind);
    const Space space = make_space(w, target);
    for (const Config& config : some_configs(space, 12, rng)) {
      SCOPED_TRACE(std::string(kind) + " " + space.print(config));
      const Module m = lower_config(w, target, space, config);
      EXPECT_TRUE(verify(m).empty()) << verify(m).front().access;
      ASSERT_EQ(m.kernels.size(), 1u);
      ASSERT_TRUE(reference.expect_agrees(interpreted(m.kernels[0], m, reference.inputs()), m)) << to_string(m);
      const GpuProgram program = gpu_program(m.kernels[0]);
      const Function threads = as_function(program, "threads");
      ASSERT_TRUE(reference.expect_agrees(interpreted(threads, m, reference.inputs(), Unwritten::kMayBeMoved), m))
          << to_string(threads);
      for (const GpuKernel& k : program.kernels) {
        EXPECT_NO_THROW(require_proved(k, k.body)) << to_string(threads);
        EXPECT_LE(k.thread_count(), target.max_threads);
        EXPECT_LE(k.shared_bytes(), target.shared_bytes);
      }
    }
  }
}

// Each read of keys and of values stands behind a condition on the newest row.
TEST(CachedAttentionOnGpus, ReadsNoRowThatIsNotThere) {
  const Workload w = parse_workload("cached_attention(b=3,m=2,n=129,k=16,v=16)");
  std::mt19937_64 rng(7);
  for (const char* kind : {"cuda", "opencl"}) {
    const Target target = small_gpu(kind);
    const Space space = make_space(w, target);
    for (const Config& config : some_configs(space, 6, rng)) {
      std::istringstream text(emit_gpu(lower_config(w, target, space, config), kind).text);
      size_t reads = 0;
      for (std::string line; std::getline(text, line);)
        for (const char* name : {" k[", " v_1["})
          for (size_t at = line.find(name); at != std::string::npos; at = line.find(name, at + 1)) {
            ++reads;
            const size_t condition = line.rfind(" ? ", at);
            ASSERT_NE(condition, std::string::npos) << line;
            EXPECT_NE(line.rfind("last[", condition), std::string::npos) << line;
          }
      EXPECT_GE(reads, 2u) << space.print(config);
    }
  }
}

class TensorCores : public testing::TestWithParam<const char*> {};

TEST_P(TensorCores, ComputeWhatTheReferenceComputesWithoutRaces) {
  const Workload w = parse_workload(GetParam());
  std::mt19937_64 rng(11);
  const ReferenceRun reference(w, rng);
  const Target target = small_gpu("cuda");
  const Space space = make_space(w, target);
  for (const Config& config : some_configs(space, 6, rng, tensor_core_algorithm(w))) {
    SCOPED_TRACE(space.print(config));
    const Module m = lower_config(w, target, space, config);
    EXPECT_TRUE(verify(m).empty()) << verify(m).front().access;
    ASSERT_TRUE(reference.expect_agrees(interpreted(m.kernels[0], m, reference.inputs()), m)) << to_string(m);
    const Function threads = as_function(gpu_program(m.kernels[0]), "threads");
    ASSERT_TRUE(reference.expect_agrees(interpreted(threads, m, reference.inputs(), Unwritten::kMayBeMoved), m))
        << to_string(threads);
    const std::string text = emit_gpu(m, "cuda").text;
    EXPECT_NE(text.find("  mma_", text.find("extern \"C\"")), std::string::npos) << "no matrix unit in " << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, TensorCores, testing::ValuesIn(kTensorCoreWorkloads),
                         [](const auto& info) { return name_of_workload(info.param); });

// Barriers of a program of threads.
int barriers_of(const Stmt& s) {
  const std::string text = to_string(s);
  int n = 0;
  for (size_t at = text.find("barrier"); at != std::string::npos; at = text.find("barrier", at + 1)) ++n;
  return n;
}

// One before the staged tiles are written, one before they are read: none between the rounds of a copy, nor between
// copies.
TEST(StagedTiles, NeedTwoBarriersHoweverManyRoundsTheirCopiesHave) {
  for (const char* text : {"conv2d(ci=64,co=64,h=14,w=14)", "dense(m=64,n=64,k=64)"}) {
    const Workload w = parse_workload(text);
    const Target target = Target::parse("cuda -arch=sm_75");
    const Space space = make_space(w, target);
    const GpuProgram program = gpu_program(lower_config(w, target, space, space.default_config()).kernels[0]);
    ASSERT_EQ(program.kernels.size(), 1u);
    EXPECT_GT(program.kernels[0].shared_bytes(), 4 * program.kernels[0].thread_count())
        << "rounds are needed for this to say something";
    EXPECT_EQ(barriers_of(program.kernels[0].body), 2) << to_string(program.kernels[0].body);
  }
}

// With double buffers the next tiles are fetched while these are multiplied: one barrier is before an iteration's
// fetch, none behind it.
TEST(StagedTiles, NeedOneBarrierWhenTheyAreDoubleBuffered) {
  const Workload w = parse_workload("dense(m=64,n=64,k=128,dtype=f16)");
  const Target target = small_gpu("cuda");
  const Space space = make_space(w, target);
  for (const std::string stages : {"2", "3", "4"}) {
    const Config config = space.parse(
        "algorithm=1,warp_split_k=1,warps_m=1,warps_n=1,warp_tile_m=1,warp_tile_n=2,steps_k=1,warp_stages=" + stages);
    const Module m = lower_config(w, target, space, config);
    const GpuProgram program = gpu_program(m.kernels[0]);
    EXPECT_EQ(barriers_of(program.kernels[0].body), 1) << to_string(program.kernels[0].body);
    // With two stages the barrier waits for all copies; with more, only for those of the iteration that begins.
    const std::string text = emit_gpu(m, "cuda").text;
    const std::string body = text.substr(text.find("__global__"));
    const auto count = [&](const std::string& word) {
      size_t n = 0;
      for (size_t at = body.find(word); at != std::string::npos; at = body.find(word, at + 1)) ++n;
      return n;
    };
    EXPECT_EQ(count("await_copies();"), stages == "2" ? 1 : 0) << body;
    EXPECT_EQ(count("await_copies_but<1>();"), stages == "3" ? 1 : 0) << body;
    EXPECT_EQ(count("await_copies_but<2>();"), stages == "4" ? 1 : 0) << body;
    EXPECT_EQ(count("commit_copies();"), stages == "2" ? 0 : std::stoi(stages)) << body;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, GpuTemplates, testing::ValuesIn(kGpuWorkloads),
                         [](const auto& info) { return name_of_workload(info.param); });

}  // namespace
}  // namespace hone
