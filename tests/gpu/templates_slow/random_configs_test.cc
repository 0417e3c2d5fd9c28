// Many random configs of the GPU templates: interpreted (loop form and the threads' program, which faults on races) and run by OpenCL, against the reference.
// HONE_GPU_CONFIGS: of each workload.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>

#include "compiler/arith/verify.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/interpreted.h"
#include "tests/fakes/opencl_run.h"
#include "tests/fakes/reference_check.h"

namespace hone {
namespace {

size_t config_count() {
  const char* text = std::getenv("HONE_GPU_CONFIGS");
  return text ? std::strtoul(text, nullptr, 10) : 40;
}

class ManyGpuConfigs : public testing::TestWithParam<const char*> {};

TEST_P(ManyGpuConfigs, AreRightInTheInterpreterAndOnADevice) {
  const Workload w = Workload::parse(GetParam());
  std::mt19937_64 rng(14);
  const ReferenceRun reference(w, rng);
  const Target target = small_gpu("opencl");
  const Space space = make_space(w, target);
  const auto driver = load_opencl();
  std::unique_ptr<Device> device;
  if (driver.ok()) device = ok_or_throw((*driver)->open(0));
  for (const Config& config : some_configs(space, config_count(), rng)) {
    SCOPED_TRACE(space.print(config));
    const Module m = lower_config(w, target, space, config);
    ASSERT_TRUE(verify(m).empty()) << verify(m).front().access;
    const DType out = m.params.back().dtype;
    ASSERT_TRUE(reference.expect_agrees(interpreted(m.kernels[0], m, reference.inputs()), out));
    ASSERT_TRUE(reference.expect_agrees(interpreted(as_function(gpu_program(m.kernels[0]), "threads"), m, reference.inputs()), out));
    ASSERT_TRUE(!device || reference.expect_agrees(run_on(*device, m, reference.inputs()), out));
  }
  if (!device) GTEST_SKIP() << "interpreted only: " << driver.status().message();
}

INSTANTIATE_TEST_SUITE_P(Shapes, ManyGpuConfigs, testing::ValuesIn(kGpuWorkloads), [](const auto& info) { return name_of_workload(info.param); });

}  // namespace
}  // namespace hone
