#include "compiler/runtime/zeroing_call.h"

#include <gtest/gtest.h>

#include <atomic>

#include "compiler/runtime/denormals/denormals.h"
#include "compiler/runtime/thread_pool.h"

namespace hone {
namespace {

// Counts of the values that the calls below saw.
std::atomic<int> halves, zeros;

// Half of the smallest normal number, which is a denormal or zero.
int32_t halve(int64_t begin, int64_t end, int32_t, void*) {
  for (int64_t i = begin; i < end; ++i) {
    volatile float smallest = 1.17549435e-38f;
    (smallest * 0.5f == 0 ? zeros : halves) += 1;
  }
  return HONE_OK;
}

int32_t entry(const DLTensor* const*, int32_t n, void* workspace, const HoneRuntime* rt) {
  halve(0, 1, 0, nullptr);
  if (rt) return rt->parallel_for(rt->self, halve, nullptr, 64, rt->workers, 1);
  return n == 3 && workspace == &zeros ? HONE_OK : HONE_FAULT;
}

TEST(ZeroingCall, MakesZerosOfDenormalsOnEveryThreadAndGivesTheModesBack) {
  if (hone_internal_float_mode() == 0) GTEST_SKIP() << "a processor whose mode is not known";
  ThreadPool pool({.workers = 2});
  halves = zeros = 0;
  EXPECT_EQ(zeroing_call(entry, nullptr, 0, nullptr, pool.runtime()), HONE_OK);
  EXPECT_EQ(zeros, 65);
  EXPECT_EQ(halves, 0);
  EXPECT_EQ(entry(nullptr, 0, nullptr, pool.runtime()), HONE_OK);
  EXPECT_EQ(halves, 65) << "a thread was left with another mode";
}

TEST(ZeroingCall, PassesItsArgumentsOn) {
  EXPECT_EQ(zeroing_call(entry, nullptr, 3, &zeros, nullptr), HONE_OK);
  EXPECT_EQ(zeroing_call(entry, nullptr, 2, &zeros, nullptr), HONE_FAULT);
}

}  // namespace
}  // namespace hone
