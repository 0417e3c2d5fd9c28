// The earlier contents of a kernel's memory change neither its results, bit by bit, nor its time: no workspace, no
// stack, no padding of packed constants. (A processor that takes a detour for denormal numbers also takes it for those
// in lanes whose results are not used.)
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "compiler/build/build.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/host/local_kernel.h"
#include "tests/fakes/cpu_workloads.h"
#include "tests/fakes/detours.h"
#include "tests/fakes/f16_workloads.h"
#include "tests/fakes/leftovers.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

constexpr int kTurns = 7, kAttempts = 4;

// A kernel for one thread, the caller, whose stack is known then.
class Kernel {
 public:
  Kernel(const Module& m, const std::vector<std::vector<char>>& inputs) : kernel_(m, host_target(1)), inputs_(inputs) {}

  /// Fills all memory that nothing has written with `what`, except the stack.
  void fill(const Leftover& what) {
    fill_with(what, kernel_.workspace().data(), kernel_.workspace().bytes());
    const Module& m = kernel_.module();
    for (size_t i = 0; i < m.params.size(); ++i)
      for (size_t k = 0; k < kernel_arguments(m, i).size(); ++k)
        fill_with(what, kernel_.physical(i, k).data(), kernel_.physical(i, k).bytes());
    for (size_t i = 0; i < inputs_.size(); ++i) kernel_.set_input(i, inputs_[i].data());
  }
  /// Seconds of a run.
  double run(const Leftover& on_stack) {
    const PinnedCaller here = kernel_.pinned();
    fill_stack_with(on_stack);
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(kernel_.run_here(), HONE_OK);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  }
  std::vector<char> outputs() const {
    std::vector<char> all;
    for (size_t o = inputs_.size(); o < kernel_.module().params.size(); ++o) {
      const std::vector<char> one = kernel_.get_output(o);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  /// How many times as long it takes with denormal numbers left as with zeros: the ratio of medians, in turns.
  double slower_with_denormals() {
    std::vector<double> zeros, denormals;
    for (int turn = 0; turn < kTurns; ++turn) {
      fill(kZeros);
      zeros.push_back(run(kZeros));
      fill(kDenormals);
      denormals.push_back(run(kDenormals));
    }
    const auto median = [](std::vector<double>& times) {
      std::nth_element(times.begin(), times.begin() + kTurns / 2, times.end());
      return times[kTurns / 2];
    };
    return median(denormals) / median(zeros);
  }

 private:
  LocalKernel kernel_;
  const std::vector<std::vector<char>>& inputs_;
};

class Leftovers : public testing::TestWithParam<const char*> {
 protected:
  // Calls `check` on kernels of the default and random configs, until it fails.
  template <class Check>
  void each_kernel(size_t count, const Check& check) {
    const Workload w = parse_workload(GetParam());
    std::mt19937_64 rng(29);
    const Target target = host_target(1);
    const Space space = make_space(w, target);
    const ReferenceRun reference(w, rng);
    for (const Config& config : some_configs(space, count, rng)) {
      SCOPED_TRACE(space.print(config));
      Kernel kernel(lower_config(w, target, space, config), reference.inputs());
      check(kernel);
      if (HasFailure()) return;
    }
  }
};

TEST_P(Leftovers, ChangeNoBit) {
  each_kernel(6, [](Kernel& kernel) {
    kernel.fill(kZeros);
    kernel.run(kZeros);
    const std::vector<char> wanted = kernel.outputs();
    for (const Leftover& what : kLeftovers) {
      kernel.fill(what);
      kernel.run(what);
      EXPECT_EQ(kernel.outputs(), wanted) << what.name;
    }
  });
}

TEST_P(Leftovers, CostNoTime) {
  if (!takes_detours()) GTEST_SKIP() << "this processor takes no detour for denormal numbers";
  each_kernel(3, [](Kernel& kernel) {
    double slower = kernel.slower_with_denormals();
    for (int again = 1; slower > kDetour && again < kAttempts; ++again) slower = kernel.slower_with_denormals();
    EXPECT_LE(slower, kDetour) << "times as long where memory held denormal numbers";
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, Leftovers, testing::ValuesIn(kCpuWorkloads));
INSTANTIATE_TEST_SUITE_P(ProductsOfF16, Leftovers, testing::ValuesIn(kF16ProductWorkloads));
// Columns that do not fill the last vector.
INSTANTIATE_TEST_SUITE_P(Tails, Leftovers,
                         testing::Values("batch_matmul(b=3,m=55,n=116,k=155)", "batch_matmul(b=2,m=52,n=184,k=114)",
                                         "batch_matmul(b=2,m=20,n=41,k=60,dtype=f64)", "dense(m=30,n=83,k=64)",
                                         "batch_matmul(b=2,m=20,n=43,k=60,dtype=bf16)",
                                         "conv2d(ci=16,h=9,w=11,co=21,layout=NCHW)",
                                         "attention(b=2,m=33,n=61,k=20,v=21)"));

}  // namespace
}  // namespace hone
