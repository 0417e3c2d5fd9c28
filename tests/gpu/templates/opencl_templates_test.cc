// Configs of the GPU templates, compiled and run by OpenCL, against the reference.
#include <gtest/gtest.h>

#include <cctype>

#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/opencl_run.h"
#include "tests/fakes/reference_check.h"

namespace hone {
namespace {

class OpenclTemplates : public testing::TestWithParam<const char*> {};

TEST_P(OpenclTemplates, ComputeWhatTheReferenceComputes) {
  const auto driver = load_opencl();
  if (!driver.ok()) GTEST_SKIP() << driver.status().message();
  const Workload w = Workload::parse(GetParam());
  std::mt19937_64 rng(12);
  const ReferenceRun reference(w, rng);
  const Target target = small_gpu("opencl");
  const Space space = make_space(w, target);
  const auto device = ok_or_throw((*driver)->open(0));
  for (const Config& config : some_configs(space, 4, rng)) {
    SCOPED_TRACE(space.print(config));
    const Module m = lower_config(w, target, space, config);
    if (!reference.expect_agrees(run_on(*device, m, reference.inputs()), m.params.back().dtype)) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, OpenclTemplates, testing::ValuesIn(kGpuWorkloads), [](const auto& info) { return name_of_workload(info.param); });

}  // namespace
}  // namespace hone
