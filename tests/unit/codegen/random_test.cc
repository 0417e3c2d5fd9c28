// Compiled code against the interpreter.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "compiler/codegen/legalize/legalize.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/ir/interp.h"
#include "compiler/ir/printer.h"
#include "compiler/runtime/thread_pool.h"
#include "tests/unit/codegen/programs.h"
#include "tests/unit/codegen/random_program.h"

namespace hone {
namespace {

std::vector<InterpArg> args_of(const std::vector<HostTensor>& tensors) {
  std::vector<InterpArg> out;
  for (const HostTensor& t : tensors) out.push_back({t.data(), t.size()});
  return out;
}

double element(const HostTensor& t, DType type, int64_t i) {
  if (type == f32) return t.as<float>()[i];
  if (type == f64) return t.as<double>()[i];
  if (type == i8) return t.as<int8_t>()[i];
  return t.as<int32_t>()[i];
}

void expect_equal(const HostTensor& got, const HostTensor& want, DType type, const std::string& what) {
  for (int64_t i = 0; i < want.size(); ++i) {
    const double g = element(got, type, i), w = element(want, type, i);
    if (std::isnan(w) && std::isnan(g)) continue;
    if (!type.is_float() || std::isinf(w))
      ASSERT_EQ(g, w) << "element " << i << " of\n" << what;
    else
      ASSERT_NEAR(g, w, 1e-4 * std::max(1.0, std::abs(w))) << "element " << i << " of\n" << what;
  }
}

class RandomPrograms : public testing::TestWithParam<int> {};

TEST_P(RandomPrograms, ComputeWhatTheInterpreterDoes) {
  ThreadPool pool({.workers = 2});
  const std::vector<Target> targets = targets_here();
  for (uint64_t seed = static_cast<uint64_t>(GetParam()) * 25; seed < static_cast<uint64_t>(GetParam() + 1) * 25;
       ++seed) {
    Module m = random_program(seed);
    const DType type = m.params.back().dtype;
    const std::string what = "seed " + std::to_string(seed) + "\n" + to_string(m.kernels[0]);
    const std::vector<HostTensor> want = tensors_of(m.kernels[0], seed);
    interpret(m, args_of(want));

    // Legalized: the same program still.
    Module legal = m;
    legal.kernels[0].body = legalize(m.kernels[0].body, seed % 2 ? 256 : 512);
    const std::vector<HostTensor> vectors = tensors_of(m.kernels[0], seed);
    interpret(legal, args_of(vectors));
    expect_equal(vectors.back(), want.back(), type, what + "legalized:\n" + to_string(legal.kernels[0]));

    m.vector_bits = seed % 3 == 0 ? 128 : seed % 3 == 1 ? 256 : 0;
    const AlignedBuffer workspace(m.workspace_bytes);
    const auto expect_same_from = [&](const CompiledModule& compiled, const HoneRuntime* rt) {
      const std::vector<HostTensor> got = tensors_of(m.kernels[0], seed);
      ASSERT_EQ(compiled.run(got, workspace.data(), rt), HONE_OK) << what;
      expect_equal(got.back(), want.back(), type, what);
    };
    const CompiledModule compiled(m);
    expect_same_from(compiled, nullptr);
    expect_same_from(compiled, pool.runtime());
    if (const Target& lesser = targets[seed / 3 % targets.size()]; lesser.mcpu != targets[0].mcpu) {
      SCOPED_TRACE(lesser.mcpu);
      expect_same_from(CompiledModule(m, {}, lesser), nullptr);
    }
  }
}

TEST(RandomProgramsElsewhere, CompileForOtherMachines) {
  for (const char* target : {"llvm -mtriple=aarch64-linux -mcpu=cortex-a72", "llvm -mtriple=x86_64-linux -mcpu=x86-64",
                             "llvm -mtriple=x86_64-linux -mcpu=haswell"})
    for (uint64_t seed = 1000; seed < 1020; ++seed)
      EXPECT_THAT(emit_object(random_program(seed), Target::parse(target)), testing::StartsWith("\x7f"
                                                                                                "ELF"))
          << seed;
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Range(0, 8));

}  // namespace
}  // namespace hone
