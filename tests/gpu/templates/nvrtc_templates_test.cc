// The CUDA text of configs of the GPU templates, compiled by NVRTC for several architectures. Needs no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "compiler/codegen/gpu/emit.h"
#include "compiler/runtime/gpu/nvrtc.h"
#include "compiler/target/occupancy.h"
#include "tests/fakes/draws.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

constexpr int kMostRegisters = 255;  // of a thread, on all of these

class NvrtcTemplates : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* home = std::getenv("CUDA_HOME");
    const auto nvrtc = Nvrtc::load({.libraries = nvrtc_libraries(home ? home : "")});
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
    nvrtc_ = *nvrtc;
  }

  // Compiles `config` for `arch`; returns the bytes that its kernels spill.
  int64_t compile(const Workload& w, const Target& target, const Space& space, const Config& config) const {
    SCOPED_TRACE(target.arch + " " + space.print(config));
    const GpuSource source = emit_gpu(lower_config(w, target, space, config), "cuda");
    const auto image = nvrtc_->compile(source.text, target.arch);
    EXPECT_TRUE(image.ok()) << image.status().message() << "\n" << source.text;
    if (!image.ok()) return 0;
    EXPECT_EQ(image->kernels.size(), source.launches.size()) << image->log;
    int64_t spilled = 0;
    for (const KernelInfo& k : image->kernels) {
      EXPECT_LE(k.registers.value_or(kMostRegisters + 1), kMostRegisters) << image->log;
      EXPECT_LE(k.local_bytes.value_or(0), target.shared_bytes) << image->log;
      spilled += k.spill_bytes.value_or(0);
      const auto launch = std::find_if(source.launches.begin(), source.launches.end(),
                                       [&](const GpuLaunch& l) { return l.kernel == k.name; });
      EXPECT_NE(launch, source.launches.end()) << k.name;
      if (launch == source.launches.end()) continue;
      EXPECT_GE(resident_warps(target, {launch->shape.threads, k.registers.value_or(kMostRegisters),
                                        launch->shared_bytes + launch->shape.dynamic_shared_bytes}),
                1)
          << image->log;
    }
    if (spilled > 0) std::cout << target.arch << " " << space.print(config) << ": " << spilled << " bytes spilled\n";
    return spilled;
  }

  std::shared_ptr<const Nvrtc> nvrtc_;
};

// The defaults for two architectures that are drawn, and a random config for one of them; all: for each, and two.
TEST_P(NvrtcTemplates, CompileForEachArchitecture) {
  const Workload w = parse_workload(GetParam());
  std::vector<std::string> archs = {"sm_75", "sm_80", "sm_87", "sm_90"};
  std::mt19937_64 rng(std::hash<std::string>()(GetParam()));
  std::erase_if(archs, [&](const std::string& arch) { return !nvrtc_->supports(arch).ok(); });
  ASSERT_FALSE(archs.empty()) << nvrtc_->path() << " knows none of the architectures";
  std::shuffle(archs.begin(), archs.end(), rng);
  archs.resize(std::min(archs.size(), draws<size_t>(2, archs.size())));
  const std::string of_random = archs.front();
  for (const std::string& arch : archs) {
    const Target target = Target::parse("cuda -arch=" + arch);
    const Space space = make_space(w, target);
    for (const Config& config : some_configs(space, arch == of_random ? 3 : 1, rng)) {
      const int64_t spilled = compile(w, target, space, config);
      EXPECT_TRUE(spilled == 0 || !(config == space.default_config()))
          << "the default config for " << arch << " spills " << spilled << " bytes";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, NvrtcTemplates, testing::ValuesIn(kGpuWorkloads),
                         [](const auto& info) { return name_of_workload(info.param); });

}  // namespace
}  // namespace hone
