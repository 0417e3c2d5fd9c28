// Configs of the GPU templates, compiled and run by OpenCL, against the reference.
#include <gtest/gtest.h>

#include <cctype>

#include "compiler/codegen/gpu/emit.h"
#include "compiler/runtime/opencl.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/reference_check.h"

namespace hone {
namespace {

template <class T>
T expect_ok(StatusOr<T> value) {
  if (!value.ok()) throw std::runtime_error(std::string(value.status().message()));
  return *std::move(value);
}
void expect_ok(const Status& status) {
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

// Logical elements of the output of `m` on `device`.
std::vector<char> run_on(Device& device, const Module& m, const std::vector<std::vector<char>>& inputs) {
  const GpuSource source = emit_gpu(m, GpuDialect::kOpencl);
  SCOPED_TRACE(source.text);
  const auto program = expect_ok(device.compile(source.text));
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  std::vector<DeviceBuffer*> args;
  for (size_t i = 0; i < m.params.size(); ++i) {
    const Param& p = m.params[i];
    std::vector<char> physical(static_cast<size_t>(p.layout.physical_size() * p.dtype.bytes()), '\xff');
    if (i < inputs.size()) pack(inputs[i].data(), physical.data(), p.shape, p.layout, p.dtype.bytes());
    buffers.push_back(expect_ok(device.allocate(static_cast<int64_t>(physical.size()))));
    expect_ok(device.write(*buffers.back(), physical.data(), static_cast<int64_t>(physical.size())));
    args.push_back(buffers.back().get());
  }
  if (m.workspace_bytes > 0) {
    buffers.push_back(expect_ok(device.allocate(m.workspace_bytes)));
    args.push_back(buffers.back().get());
  }
  for (const GpuLaunch& l : source.launches) expect_ok(device.launch(*expect_ok(program->kernel(l.kernel)), {l.blocks, l.threads}, args));
  expect_ok(device.synchronize());
  const Param& out = m.params.back();
  std::vector<char> physical(static_cast<size_t>(out.layout.physical_size() * out.dtype.bytes()));
  expect_ok(device.read(*args[m.params.size() - 1], physical.data(), static_cast<int64_t>(physical.size())));
  std::vector<char> logical(static_cast<size_t>(element_count(out.shape) * out.dtype.bytes()));
  unpack(physical.data(), logical.data(), out.shape, out.layout, out.dtype.bytes());
  return logical;
}

class OpenclTemplates : public testing::TestWithParam<const char*> {};

TEST_P(OpenclTemplates, ComputeWhatTheReferenceComputes) {
  const auto driver = load_opencl();
  if (!driver.ok()) GTEST_SKIP() << driver.status().message();
  const Workload w = Workload::parse(GetParam());
  std::mt19937_64 rng(12);
  const ReferenceRun reference(w, rng);
  const Target target = small_gpu("opencl");
  const Space space = make_space(w, target);
  const auto device = expect_ok((*driver)->open(0));
  for (const Config& config : some_configs(space, 4, rng)) {
    SCOPED_TRACE(space.print(config));
    const Module m = lower_config(w, target, space, config);
    if (!reference.expect_agrees(run_on(*device, m, reference.inputs()), m.params.back().dtype)) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, OpenclTemplates, testing::ValuesIn(kGpuWorkloads), [](const auto& info) { return name_of_workload(info.param); });

}  // namespace
}  // namespace hone
