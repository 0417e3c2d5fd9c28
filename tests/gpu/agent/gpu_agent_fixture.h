// A HostMeasurer with the real processes of a GPU.
#pragma once

#include "tests/e2e/agent/agent_fixture.h"
#include "tests/gpu/agent/gpu_add_module.h"

namespace hone::agent {

class GpuAgentTest : public AgentTest {
 protected:
  DeviceList find(std::string_view kind) {
    std::vector<DeviceKind> kinds = {device_kind_of(kind).value()};
    return await(list_devices(io_, kinds));
  }
  /// Measures on `device` from now on.
  void open(const FoundDevice& device) {
    StatusOr<ScratchFolder> folder = ScratchFolder::make();
    ASSERT_TRUE(folder.ok()) << folder.status();
    HostOptions options;
    options.threads = 2;
    options.target = device.target;
    options.device = device.spec;
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
};

}  // namespace hone::agent
