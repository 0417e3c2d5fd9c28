// Compiled modules: the artifact's ABI, what the assembly looks like, what this machine is.
#include <gmock/gmock.h>

#include <cmath>

#include "base/check.h"
#include "compiler/runtime/thread_pool.h"
#include "tests/unit/codegen/programs.h"

namespace hone {
namespace {

void expect_product(const std::vector<HostTensor>& t, int64_t m, int64_t n, int64_t k) {
  const float *a = t[0].as<float>(), *b = t[1].as<float>(), *c = t[2].as<float>();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t x = 0; x < k; ++x) sum += static_cast<double>(a[i * k + x]) * b[x * n + j];
      ASSERT_NEAR(c[i * n + j], sum, 1e-4) << i << "," << j;
    }
}

TEST(Llvm, ComputesATiledProduct) {
  const Function f = tiled_matmul(16, 64, 48, 8, 32, 2);
  const CompiledModule compiled(module_of(f));
  const std::vector<HostTensor> t = tensors_of(f);
  ASSERT_EQ(compiled.run(t), HONE_OK);
  expect_product(t, 16, 64, 48);
}

TEST(Llvm, RunsParallelLoopsOnThePoolAndWithoutOne) {
  const Function f = tiled_matmul(24, 64, 48, 4, 32, 1, /*parallel=*/true);
  const CompiledModule compiled(module_of(f, 0, 2));
  ThreadPool pool({.workers = 2});
  for (const HoneRuntime* rt : {static_cast<const HoneRuntime*>(nullptr), pool.runtime()}) {
    const std::vector<HostTensor> t = tensors_of(f);
    ASSERT_EQ(compiled.run(t, nullptr, rt), HONE_OK);
    expect_product(t, 24, 64, 48);
  }
}

TEST(HostTarget, IsCompleteAndRoundTrips) {
  const Target t = host_target(2);
  EXPECT_TRUE(t.is_complete());
  EXPECT_EQ(t.threads, 2);
  EXPECT_EQ(Target::parse(to_string(t)), t);
}

}  // namespace
}  // namespace hone
