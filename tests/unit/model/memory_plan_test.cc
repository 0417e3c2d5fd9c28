#include "compiler/model/plan/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace hone {
namespace {

// The fault in a plan; empty: none.
std::string fault(const std::vector<ArenaBuffer>& buffers, const MemoryPlan& plan) {
  if (plan.offsets.size() != buffers.size()) return "another number of buffers";
  for (size_t a = 0; a < buffers.size(); ++a) {
    if (plan.offsets[a] < 0 || plan.offsets[a] % 64 != 0) return "a misaligned offset";
    if (plan.offsets[a] + buffers[a].bytes > plan.bytes) return "a buffer beyond the arena";
    for (size_t b = 0; b < a; ++b) {
      const bool at_once = buffers[a].first <= buffers[b].last && buffers[b].first <= buffers[a].last;
      const bool apart = plan.offsets[a] + buffers[a].bytes <= plan.offsets[b] ||
                         plan.offsets[b] + buffers[b].bytes <= plan.offsets[a];
      if (at_once && !apart) return "two buffers share memory at one time";
    }
  }
  return "";
}

TEST(MemoryPlan, OfNothingIsEmpty) {
  const MemoryPlan plan = plan_memory({});
  EXPECT_EQ(plan.bytes, 0);
  EXPECT_EQ(plan.bound, 0);
}

TEST(MemoryPlan, AChainNeedsTwoNeighbours) {
  std::vector<ArenaBuffer> chain;
  for (int i = 0; i < 20; ++i) chain.push_back({int64_t{1000} * (1 + i % 5), i, i + 1});
  const MemoryPlan plan = plan_memory(chain);
  EXPECT_EQ(fault(chain, plan), "");
  EXPECT_EQ(plan.bytes, plan.bound);
  EXPECT_EQ(plan.bound, 4032 + 5056);  // rounded to 64
}

TEST(MemoryPlan, EmptyBuffersTakeNothing) {
  const std::vector<ArenaBuffer> buffers = {{0, 0, 9}, {64, 0, 3}, {0, 2, 2}, {64, 4, 9}};
  const MemoryPlan plan = plan_memory(buffers);
  EXPECT_EQ(fault(buffers, plan), "");
  EXPECT_EQ(plan.bytes, 64);
}

TEST(MemoryPlan, RandomBuffersNeverOverlapAndLieClose) {
  std::mt19937_64 random(7);
  double ratios = 0;
  constexpr int kRounds = 60;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<ArenaBuffer> buffers;
    for (int i = 0; i < 80; ++i) {
      const int first = static_cast<int>(random() % 60);
      buffers.push_back({static_cast<int64_t>(random() % 100000), first, first + static_cast<int>(random() % 8)});
    }
    const MemoryPlan plan = plan_memory(buffers);
    ASSERT_EQ(fault(buffers, plan), "") << round;
    ASSERT_GE(plan.bytes, plan.bound);
    ratios += static_cast<double>(plan.bytes) / static_cast<double>(plan.bound);
    EXPECT_EQ(plan_memory(buffers).offsets, plan.offsets) << "another plan for the same buffers";
  }
  EXPECT_LT(ratios / kRounds, 1.05);
}

// The search is bounded by its work: minutes without that.
TEST(MemoryPlan, ManyLongLivedBuffersArePlannedToo) {
  std::mt19937_64 random(3);
  std::vector<ArenaBuffer> buffers;
  for (int i = 0; i < 2000; ++i) {
    buffers.push_back({static_cast<int64_t>(random() % 100000), i, i + static_cast<int>(random() % 500)});
    buffers.push_back({0, i, i});
  }
  const MemoryPlan plan = plan_memory(buffers);
  EXPECT_EQ(fault(buffers, plan), "");
  EXPECT_LT(static_cast<double>(plan.bytes), 1.3 * static_cast<double>(plan.bound));
}

}  // namespace
}  // namespace hone
