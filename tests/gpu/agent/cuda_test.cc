// The agent's processes with CUDA devices, over a driver that only adds (tests/fakes/fake_cuda.h): discovery, building by whichever compiler is here,
// loading, checking and timing are the real ones.
#include <cstdlib>

#include "tests/e2e/agent/agent_fixture.h"
#include "tests/gpu/agent/gpu_add_module.h"

namespace hone::agent {
namespace {

using testing::HasSubstr;

class CudaAgent : public AgentTest {
 protected:
  CudaAgent() {
    setenv("LD_LIBRARY_PATH", HONE_FAKE_CUDA_DIR, 1);
    std::vector<DeviceKind> kinds = {DeviceKind::kCuda};
    found_ = await(list_devices(io_, kinds));
  }
  ~CudaAgent() override { unsetenv("LD_LIBRARY_PATH"); }

  void SetUp() override {
    ASSERT_EQ(found_.devices.size(), 2U) << testing::PrintToString(found_.skipped);
    StatusOr<ScratchFolder> folder = ScratchFolder::make();
    ASSERT_TRUE(folder.ok()) << folder.status();
    HostOptions options;
    options.threads = 2;
    options.target = found_.devices[1].target;
    options.device = found_.devices[1].spec;
    measurer_ = std::make_unique<HostMeasurer>(io_, options, std::move(*folder));
    const StatusOr<HostInfo> info = await(measurer_->start());
    ASSERT_TRUE(info.ok()) << info.status();
    info_ = *info;
    const BuildOutcome reference = build(add_reference(), 60, BuildPurpose::kReference);
    ASSERT_EQ(reference.status, ResultStatus::kOk) << reference.message;
    reference_ = reference.file;
  }

  wire::CandidateResult run_module(const GpuAddOptions& options) {
    const auto file = built(gpu_add_module(options));
    return file ? run(file->module) : wire::CandidateResult();
  }

  DeviceList found_;
};

TEST_F(CudaAgent, EachGpuIsADevice) {
  const FoundDevice& d = found_.devices.at(1);
  EXPECT_EQ(device_name(d.spec), "cuda1");
  EXPECT_THAT(d.target, HasSubstr("cuda -arch=sm_90 -sms=132"));
  EXPECT_EQ(d.model, "Fake GPU 1");
  EXPECT_EQ(d.compute_capability, "9.0");
  EXPECT_EQ(d.spec.cuda_major, 13);
  EXPECT_FALSE(d.on_host);
  EXPECT_FALSE(info_.device_compiler.empty());
}

TEST_F(CudaAgent, ACandidateIsTimedByTheDevicesClock) {
  const wire::CandidateResult r = run_module({});
  EXPECT_EQ(r.status, ResultStatus::kOk) << r.message;
  ASSERT_FALSE(r.times.empty());
  for (const double t : r.times) EXPECT_NEAR(t, 0.25e-3, 1e-6) << "what the driver says of each launch";
}

TEST_F(CudaAgent, AFaultCostsTheCandidateAndTheProcessOnly) {
  EXPECT_EQ(run_module({}).status, ResultStatus::kOk);
  const pid_t runner = measurer_->runner_pid();
  const wire::CandidateResult r = run_module({.threads = 50});
  EXPECT_EQ(r.status, ResultStatus::kRunFailed);
  EXPECT_THAT(r.message, HasSubstr("an illegal memory access was encountered"));
  EXPECT_EQ(run_module({}).status, ResultStatus::kOk) << "the device works in a new process";
  EXPECT_EQ(measurer_->runner_pid(), runner);
}

TEST_F(CudaAgent, AnElementThatIsWrongIsFound) {
  const auto file = built(gpu_add_module());
  ASSERT_TRUE(file);
  RunRequest r = request({file->module});
  r.candidates[0].info.elements.back() = kElements + 1;  // the last one nobody writes
  r.candidates[0].info.params.back().shape = {kElements + 1};
  r.candidates[0].info.params.back().layout = Layout::identity({kElements + 1});
  const wire::CandidateResult result = run_all(r).candidates.at(0);
  EXPECT_EQ(result.status, ResultStatus::kWrongResult);
  EXPECT_THAT(result.message, HasSubstr("output element 1000 of 'C' was never written"));
}

}  // namespace
}  // namespace hone::agent
