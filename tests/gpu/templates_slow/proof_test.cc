// The proof without a GPU: many random configs of every GPU template on small shapes. Each is interpreted, as loops and
// as threads (which faults on races), and run by OpenCL, against the reference; its CUDA text is compiled for every
// architecture that NVRTC knows, and LLVM writes PTX for older ones. HONE_GPU_CONFIGS: of each workload; HONE_GPU_SEED:
// others of them. A run in pieces takes one seed after the other.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <iostream>
#include <set>

#include "compiler/arith/verify.h"
#include "compiler/codegen/gpu/emit.h"
#include "compiler/codegen/nvptx/emit.h"
#include "compiler/runtime/gpu/nvrtc.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/interpreted.h"
#include "tests/fakes/opencl_run.h"
#include "tests/fakes/ptxas.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

constexpr const char* kArchitectures[] = {"sm_75", "sm_80", "sm_87", "sm_90"};

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// The default and random configs, no two the same; all where the space has no more than `count`.
std::vector<Config> distinct_configs(const Space& space, size_t count) {
  std::vector<Config> configs;
  if (const auto all = space.count_valid(100'000); all && *all <= count) {
    ConfigIndex at = 0;
    while (const auto c = space.next_valid(&at)) configs.push_back(*c);
    return configs;
  }
  std::mt19937_64 rng(number_from("HONE_GPU_SEED", 14));
  configs.push_back(space.default_config());
  std::set<std::string> seen{space.print(configs[0])};
  for (size_t tries = 0; configs.size() < count && tries < 20 * count; ++tries) {
    const auto c = space.sample(rng);
    if (c && seen.insert(space.print(*c)).second) configs.push_back(*c);
  }
  return configs;
}

// A workload, the space of OpenCL devices, and those of NVIDIA's that differ from it, with the configs to look at.
struct Part {
  Target target;
  Space space;
  std::vector<Config> configs;
};

class GpuProof : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const size_t count = number_from("HONE_GPU_CONFIGS", 200);
    for (const std::string text : {"opencl -sms=2", "cuda -arch=sm_75", "cuda -arch=sm_80", "cuda -arch=sm_90"}) {
      const Target target = Target::parse(text);
      Space space = make_space(w_, target);
      if (std::any_of(parts_.begin(), parts_.end(),
                      [&](const Part& p) { return p.space.fingerprint() == space.fingerprint(); }))
        continue;
      std::vector<Config> configs = distinct_configs(space, count);
      ASSERT_FALSE(configs.empty());
      parts_.push_back({target, std::move(space), std::move(configs)});
    }
  }

  void TearDown() override {
    if (!IsSkipped()) std::cout << done_ << " configs, " << failed_ << " of them wrong\n";
  }

  // Goes through the configs of `part`; an error of one does not keep the others from their turn.
  template <class F>
  void each_config(const Part& part, F&& check) {
    for (const Config& config : part.configs) {
      SCOPED_TRACE(to_string(part.target) + " " + part.space.print(config));
      bool right = false;
      try {
        right = check(config);
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
      }
      ++done_;
      if (!right) ++failed_;
    }
  }

  const Workload w_ = parse_workload(GetParam());
  std::vector<Part> parts_;
  int64_t done_ = 0, failed_ = 0;
};

TEST_P(GpuProof, InterpretedTheyComputeWhatTheReferenceComputes) {
  std::mt19937_64 rng(14);
  const ReferenceRun reference(w_, rng);
  for (const Part& part : parts_) {
    each_config(part, [&](const Config& config) {
      const Module m = lower_config(w_, part.target, part.space, config);
      const auto violations = verify(m);
      EXPECT_TRUE(violations.empty()) << violations.front().access;
      return violations.empty() && reference.expect_agrees(interpreted(m.kernels[0], m, reference.inputs()), m) &&
             reference.expect_agrees(
                 interpreted(as_function(gpu_program(m.kernels[0]), "threads"), m, reference.inputs()), m);
    });
  }
}

TEST_P(GpuProof, ADeviceComputesWhatTheReferenceComputes) {
  // The device compiles each kernel once and runs it once: PoCL's compiler would win less by optimising and by keeping
  // its code than these take.
  setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", 0);
  setenv("POCL_KERNEL_CACHE", "0", 0);
  const auto driver = load_opencl();
  if (!driver.ok()) GTEST_SKIP() << driver.status().message();
  const auto device = ok_or_throw((*driver)->open(0));
  std::mt19937_64 rng(14);
  const ReferenceRun reference(w_, rng);
  const Part& part = parts_.front();
  each_config(part, [&](const Config& config) {
    const Module m = lower_config(w_, part.target, part.space, config);
    return reference.expect_agrees(run_on(*device, m, reference.inputs()), m);
  });
}

TEST_P(GpuProof, NvrtcCompilesTheirTextForEachArchitecture) {
  const char* home = std::getenv("CUDA_HOME");
  const auto nvrtc = Nvrtc::load({.libraries = nvrtc_libraries(home ? home : "")});
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  for (const std::string arch : kArchitectures) {
    if (!(*nvrtc)->supports(arch).ok()) continue;
    const Target target = Target::parse("cuda -arch=" + arch);
    const Space space = make_space(w_, target);
    const auto part = std::find_if(parts_.begin(), parts_.end(),
                                   [&](const Part& p) { return p.space.fingerprint() == space.fingerprint(); });
    ASSERT_NE(part, parts_.end()) << arch << " has a space that no other target has";
    each_config({target, space, part->configs}, [&](const Config& config) {
      if (!space.valid(config)) return true;  // of a target that has more
      const GpuSource source = emit_gpu(lower_config(w_, target, space, config), "cuda");
      const auto image = (*nvrtc)->compile(source.text, arch);
      EXPECT_TRUE(image.ok()) << image.status().message() << "\n" << source.text;
      return image.ok();
    });
  }
  EXPECT_GT(done_, 0) << (*nvrtc)->path() << " knows none of the architectures";
}

// The driver of these would compile the text: here ptxas does, for the oldest architecture that it still knows.
TEST_P(GpuProof, LlvmWritesPtxForOlderArchitectures) {
  const std::string ptxas = ptxas_path();
  for (const std::string arch : {"sm_53", "sm_72"}) {
    const Target target = Target::parse("cuda -arch=" + arch);
    const Space space = make_space(w_, target);
    const Part& part = parts_.front();
    std::vector<Config> own;
    if (space.fingerprint() != part.space.fingerprint()) own = distinct_configs(space, part.configs.size());
    each_config({target, space, own.empty() ? part.configs : own}, [&](const Config& config) {
      if (!space.valid(config)) return true;
      const GpuSource source = emit_ptx(lower_config(w_, target, space, config), target);
      const bool written = source.text.find("\n.target " + arch + "\n") != std::string::npos;
      EXPECT_TRUE(written) << source.text;
      std::string log;
      const bool assembled =
          ptxas.empty() || assemble(ptxas, source.text, "sm_75", &log).size() == source.launches.size();
      EXPECT_TRUE(assembled) << log << source.text;
      return written && assembled;
    });
  }
  if (ptxas.empty()) GTEST_SKIP() << "written only: there is no ptxas";
}

// The workloads for tensor cores too, without those that both lists have.
std::vector<const char*> all_workloads() {
  std::vector<const char*> all(std::begin(kGpuWorkloads), std::end(kGpuWorkloads));
  for (const char* text : kTensorCoreWorkloads)
    if (std::none_of(all.begin(), all.end(), [&](const std::string& other) { return other == text; }))
      all.push_back(text);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, GpuProof, testing::ValuesIn(all_workloads()),
                         [](const auto& info) { return name_of_workload(info.param); });

}  // namespace
}  // namespace hone
