// The generic GPU template on definitions that no workload names: loop form and the threads' program, interpreted
// (which faults on races), against the naive program.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/arith/verify.h"
#include "compiler/codegen/gpu/emit.h"
#include "compiler/ir/interp.h"
#include "compiler/ir/printer.h"
#include "compiler/lower/lower.h"
#include "compiler/ops/templates/gpu/generic_gpu.h"
#include "tests/fakes/generic_definitions.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/reference_check.h"

namespace hone {
namespace {

using generic::kGenericDefinitions;

class GenericOnGpus : public testing::TestWithParam<int> {};

TEST_P(GenericOnGpus, ComputeWhatTheNaiveProgramDoesWithoutRaces) {
  const Definition d = kGenericDefinitions[GetParam()].make();
  std::mt19937_64 rng(3);
  std::vector<std::vector<char>> tensors;
  for (const auto& [tensor, role] : d.inputs)
    tensors.push_back(random_elements(f32, element_count(tensor->shape), rng));
  for (const Tensor& t : d.outputs)
    tensors.emplace_back(static_cast<size_t>(element_count(t->shape) * t->buffer->dtype.bytes()), '\xff');
  const auto run = [&](const Function& f) {
    std::vector<std::vector<char>> out = tensors;
    std::vector<InterpArg> args;
    for (auto& bytes : out) args.push_back({bytes.data(), static_cast<int64_t>(bytes.size() / 4)});
    interpret(f, args);
    return out;
  };
  const auto want = run(lower(Schedule(d.inputs, d.outputs), {}).kernels[0]);
  const auto agrees = [&](const std::vector<std::vector<char>>& got) {
    for (size_t o = 0; o < d.outputs.size(); ++o)
      for (int64_t i = 0; i < element_count(d.outputs[o]->shape); ++i) {
        const DType t = d.outputs[o]->buffer->dtype;
        const double is = element(got[d.inputs.size() + o], t, i), right = element(want[d.inputs.size() + o], t, i);
        if (!(std::fabs(is - right) <= 2e-5 * std::max(1.0, std::fabs(right)))) return false;
      }
    return true;
  };
  for (const char* kind : {"cuda", "opencl"}) {
    const Target target = small_gpu(kind);
    const Space space("generic_gpu", 1, [&](Knobs& knobs) { generic_gpu(d, target, knobs, nullptr); });
    for (const Config& config : some_configs(space, 8, rng)) {
      SCOPED_TRACE(std::string(kind) + " " + space.print(config));
      std::unique_ptr<Schedule> s;
      Knobs knobs = space.reader(config);
      generic_gpu(d, target, knobs, &s);
      const Module m = lower(*s, {});
      EXPECT_TRUE(verify(m).empty()) << verify(m).front().access;
      ASSERT_TRUE(agrees(run(m.kernels[0]))) << s->text() << to_string(m);
      const GpuProgram program = gpu_program(m.kernels[0]);
      const Function threads = as_function(program, "threads");
      ASSERT_TRUE(agrees(run(threads))) << to_string(threads);
      for (const GpuKernel& k : program.kernels) {
        EXPECT_NO_THROW(require_proved(k, k.body)) << to_string(threads);
        EXPECT_LE(k.thread_count(), target.max_threads);
        EXPECT_LE(k.shared_bytes(), target.shared_bytes);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, GenericOnGpus, testing::Range(0, static_cast<int>(std::size(kGenericDefinitions))),
                         [](const auto& info) { return std::string(kGenericDefinitions[info.param].name); });

}  // namespace
}  // namespace hone
