// Artifacts of configs of the GPU templates: linked, loaded, and run on an OpenCL device through NAME_plain, against
// the reference.
#include <gtest/gtest.h>

#include "compiler/build/artifact.h"
#include "compiler/codegen/llvm/link/link.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/ir/dlpack_type.h"
#include "compiler/runtime/gpu/gpu_launcher.h"
#include "compiler/runtime/thread_pool.h"
#include "tests/fakes/draws.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/opencl_run.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

class GpuArtifacts : public testing::TestWithParam<const char*> {};

TEST_P(GpuArtifacts, ComputeWhatTheReferenceComputesFromRowMajorTensors) {
  const QuickPocl quick;
  const auto driver = load_opencl();
  if (!driver.ok()) GTEST_SKIP() << driver.status().message();
  const Workload w = parse_workload(GetParam());
  std::mt19937_64 rng(18);
  const ReferenceRun reference(w, rng);
  const Target target = small_gpu("opencl"), host = host_target(2);
  const Space space = make_space(w, target);
  const auto device = ok_or_throw((*driver)->open(0));
  ThreadPool pool({.workers = 2});
  const TemporaryFolder folder;
  int number = 0;
  for (const Config& config : some_configs(space, draws<size_t>(1, 2), rng)) {
    SCOPED_TRACE(space.print(config));
    const Module m = lower_config(w, target, space, config);
    const std::string name = "k" + std::to_string(number++), path = folder.path() + "/" + name + ".so";
    link_shared(gpu_artifact_objects(m, target, host, gpu_artifact_code(m, target, nvrtc_here()), name,
                                     artifact_json(m, target, name, to_string(w), space.print(config))),
                path);
    const Artifact artifact = ok_or_throw(Artifact::load(path, name));
    GpuLauncher launcher(*device);
    const HoneRuntime rt = launcher.runtime(pool.runtime());
    std::vector<HostTensor> tensors;
    for (size_t i = 0; i < m.params.size(); ++i) {
      tensors.emplace_back(dlpack_type(m.params[i].dtype), m.params[i].shape);
      std::memset(tensors.back().data(), 0xff, static_cast<size_t>(tensors.back().bytes()));
      if (i < reference.inputs().size())
        std::memcpy(tensors.back().data(), reference.inputs()[i].data(), static_cast<size_t>(tensors.back().bytes()));
    }
    std::vector<const DLTensor*> args;
    for (const HostTensor& t : tensors) args.push_back(t.view());
    const auto plain = reinterpret_cast<HoneEntry>(artifact.symbol(name + "_plain"));
    ASSERT_EQ(plain(args.data(), static_cast<int32_t>(args.size()), nullptr, &rt), HONE_OK)
        << message_of(launcher.status());
    std::vector<char> out;
    for (size_t i = reference.inputs().size(); i < tensors.size(); ++i) {
      const auto* bytes = tensors[i].as<char>();
      out.insert(out.end(), bytes, bytes + tensors[i].bytes());
    }
    if (!reference.expect_agrees(out, m)) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, GpuArtifacts, testing::ValuesIn(kGpuWorkloads),
                         [](const auto& info) { return name_of_workload(info.param); });

}  // namespace
}  // namespace hone
