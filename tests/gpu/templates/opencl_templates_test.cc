// Configs of the GPU templates, compiled and run by OpenCL, against the reference.
#include <gtest/gtest.h>

#include <cctype>

#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/opencl_run.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

class OpenclTemplates : public testing::TestWithParam<const char*> {};

TEST_P(OpenclTemplates, ComputeWhatTheReferenceComputes) {
  const QuickPocl quick;
  const auto driver = load_opencl();
  if (!driver.ok()) GTEST_SKIP() << driver.status().message();
  const Workload w = parse_workload(GetParam());
  std::mt19937_64 rng(12);
  const ReferenceRun reference(w, rng);
  const Target target = small_gpu("opencl");
  const Space space = make_space(w, target);
  const auto device = ok_or_throw((*driver)->open(0));
  for (const Config& config : some_configs(space, 4, rng)) {
    SCOPED_TRACE(space.print(config));
    const Module m = lower_config(w, target, space, config);
    if (!reference.expect_agrees(run_on(*device, m, reference.inputs()), m)) return;
  }
}

// A product that CUDA computes on tensor cores is a plain sum here: tiles, barriers and each thread's part of a warp's
// tile are the same.
TEST(OpenclTensorCoreSchedules, TheirSchedulesComputeWhatTheReferenceComputes) {
  const QuickPocl quick;
  const auto driver = load_opencl();
  if (!driver.ok()) GTEST_SKIP() << driver.status().message();
  const auto device = ok_or_throw((*driver)->open(0));
  for (const char* text : kTensorCoreWorkloads) {
    const Workload w = parse_workload(text);
    const Target target = small_gpu("cuda");
    const Space space = make_space(w, target);
    std::mt19937_64 rng(12);
    const ReferenceRun reference(w, rng);
    for (const Config& config : some_configs(space, 3, rng, tensor_core_algorithm(w))) {
      SCOPED_TRACE(to_string(w) + " " + space.print(config));
      const Module m = lower_config(w, target, space, config);
      reference.expect_agrees(run_on(*device, m, reference.inputs()), m);
    }
  }
}

// Values that CUDA exchanges between a warp's threads by shuffles are read from shared memory here.
TEST(OpenclWarpSums, TheirSchedulesComputeWhatTheReferenceComputes) {
  const QuickPocl quick;
  const auto driver = load_opencl();
  if (!driver.ok()) GTEST_SKIP() << driver.status().message();
  const auto device = ok_or_throw((*driver)->open(0));
  int shuffling = 0;
  for (const char* text : {"reduce(op=sum,shape=5x667,axes=1)", "reduce(op=max,shape=3x4x50,axes=2)",
                           "reduce(op=mean,shape=9000,axes=0)"}) {
    const Workload w = parse_workload(text);
    const Target target = small_gpu("cuda");
    const Space space = make_space(w, target);
    std::mt19937_64 rng(12);
    const ReferenceRun reference(w, rng);
    for (const Config& config : some_configs(space, 6, rng)) {
      SCOPED_TRACE(to_string(w) + " " + space.print(config));
      shuffling += space.print(config).find("shuffle=1") != std::string::npos;
      const Module m = lower_config(w, target, space, config);
      reference.expect_agrees(run_on(*device, m, reference.inputs()), m);
    }
  }
  EXPECT_GT(shuffling, draws(1, 3));
}

// Few of the random configs are of one algorithm.
TEST(OpenclConvolutions, EachAlgorithmComputesWhatTheReferenceComputes) {
  const QuickPocl quick;
  const auto driver = load_opencl();
  if (!driver.ok()) GTEST_SKIP() << driver.status().message();
  const auto device = ok_or_throw((*driver)->open(0));
  for (const char* text : {"conv2d(n=1,ci=16,h=7,w=9,co=12,kh=3,kw=3,stride=1,pad=1,epilogue=bias+relu)",
                           "conv2d(n=2,ci=17,h=6,w=5,co=8,kh=3,kw=3,stride=1,pad=0,layout=NHWC,epilogue=add)"}) {
    const Workload w = parse_workload(text);
    const Target target = small_gpu("opencl");
    const Space space = make_space(w, target);
    std::mt19937_64 rng(12);
    const ReferenceRun reference(w, rng);
    for (const char* algorithm : {"algorithm=0", "algorithm=1", "algorithm=2", "algorithm=4"})
      for (const Config& config : some_configs(space, 2, rng, algorithm)) {
        SCOPED_TRACE(w.operator_name() + " " + space.print(config));
        const Module m = lower_config(w, target, space, config);
        reference.expect_agrees(run_on(*device, m, reference.inputs()), m);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, OpenclTemplates, testing::ValuesIn(kGpuWorkloads),
                         [](const auto& info) { return name_of_workload(info.param); });

}  // namespace
}  // namespace hone
