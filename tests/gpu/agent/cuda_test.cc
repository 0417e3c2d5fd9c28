// The agent's processes with CUDA devices, over a driver that only adds (tests/fakes/fake_cuda.h). Discovery, building
// (by NVRTC or LLVM, as available), loading, checking and timing are the real ones.
#include <cstdlib>
#include <optional>
#include <string>

#include "tests/gpu/agent/gpu_agent_fixture.h"

namespace hone::agent {
namespace {

using testing::HasSubstr;

class CudaAgent : public GpuAgentTest {
 protected:
  CudaAgent() {
    if (const char* before = std::getenv("LD_LIBRARY_PATH")) before_ = before;
    setenv("LD_LIBRARY_PATH", HONE_FAKE_CUDA_DIR, 1);
    found_ = find("cuda");
  }
  ~CudaAgent() override { before_ ? setenv("LD_LIBRARY_PATH", before_->c_str(), 1) : unsetenv("LD_LIBRARY_PATH"); }

  void SetUp() override {
    ASSERT_EQ(found_.devices.size(), 2U) << testing::PrintToString(found_.skipped);
    open(found_.devices[1]);
  }

  std::optional<std::string> before_;
  DeviceList found_;
};

TEST_F(CudaAgent, EachGpuIsADevice) {
  const FoundDevice& d = found_.devices.at(1);
  EXPECT_EQ(device_name(d.spec), "cuda1");
  EXPECT_THAT(d.target, HasSubstr("cuda -arch=sm_90 -sms=132"));
  EXPECT_EQ(d.model, "Fake GPU 1");
  EXPECT_EQ(d.compute_capability, "9.0");
  EXPECT_EQ(d.spec.api_major, 13);
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
  r.candidates[0].info.params.back().shape = {kElements + 1};  // the last element is never written
  r.candidates[0].info.params.back().layout = Layout::identity({kElements + 1});
  const wire::CandidateResult result = run_all(r).candidates.at(0);
  EXPECT_EQ(result.status, ResultStatus::kWrongResult);
  EXPECT_THAT(result.message, HasSubstr("output element 1000 of 'C' was never written"));
}

}  // namespace
}  // namespace hone::agent
