#include "compiler/model/plan/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace hone {
namespace {

constexpr int64_t kAlignment = 64;  // bytes: of a cache line and of the widest vector
constexpr int kMoves = 4000;        // tries of the local search
// Buffers that are looked at in all its tries: a second or two. Work, not time: the same buffers get the same plan.
constexpr int64_t kMostLooks = 100'000'000;

using Order = std::vector<size_t>;

// Which of these buffers are needed together with each.
std::vector<std::vector<size_t>> neighbours_of(const std::vector<ArenaBuffer>& buffers, Order order) {
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return buffers[a].first < buffers[b].first; });
  std::vector<std::vector<size_t>> neighbours(buffers.size());
  std::vector<size_t> alive;
  for (const size_t b : order) {
    std::erase_if(alive, [&](size_t a) { return buffers[a].last < buffers[b].first; });
    for (const size_t a : alive) neighbours[a].push_back(b), neighbours[b].push_back(a);
    alive.push_back(b);
  }
  return neighbours;
}

// Places buffers in this order, each as low as it fits. `*looks` counts the neighbours that are looked at.
MemoryPlan placed(const std::vector<ArenaBuffer>& buffers, const std::vector<std::vector<size_t>>& neighbours,
                  const Order& order, int64_t give_up, int64_t* looks) {
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), -1);
  std::vector<std::pair<int64_t, int64_t>> taken;  // begin and end of ranges that a buffer may not touch
  for (const size_t b : order) {
    taken.clear();
    *looks += static_cast<int64_t>(neighbours[b].size()) + 1;
    for (const size_t n : neighbours[b])
      if (plan.offsets[n] >= 0) taken.emplace_back(plan.offsets[n], plan.offsets[n] + buffers[n].bytes);
    std::sort(taken.begin(), taken.end());
    int64_t at = 0;
    for (const auto& [begin, end] : taken) {
      if (begin - at >= buffers[b].bytes) break;
      at = std::max(at, end);
    }
    plan.offsets[b] = at;
    plan.bytes = std::max(plan.bytes, at + buffers[b].bytes);
    if (plan.bytes > give_up) break;  // worse than a known plan
  }
  return plan;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<ArenaBuffer>& given) {
  std::vector<ArenaBuffer> buffers = given;
  int steps = 0;
  for (ArenaBuffer& b : buffers) {
    b.bytes = (b.bytes + kAlignment - 1) / kAlignment * kAlignment;
    steps = std::max(steps, b.last + 1);
  }
  std::vector<int64_t> needed(static_cast<size_t>(steps) + 1, 0);
  for (const ArenaBuffer& b : buffers) {
    needed[static_cast<size_t>(b.first)] += b.bytes;
    needed[static_cast<size_t>(b.last) + 1] -= b.bytes;
  }
  std::partial_sum(needed.begin(), needed.end(), needed.begin());
  const int64_t bound = *std::max_element(needed.begin(), needed.end());

  // Empty ones lie anywhere.
  Order best_order;
  for (size_t b = 0; b < buffers.size(); ++b)
    if (buffers[b].bytes > 0) best_order.push_back(b);
  const std::vector<std::vector<size_t>> neighbours = neighbours_of(buffers, best_order);
  int64_t looks = 0;
  MemoryPlan best = placed(buffers, neighbours, best_order, INT64_MAX, &looks);
  // An equally good plan is taken, too: the search walks on from there.
  const auto try_order = [&](const Order& order) {
    MemoryPlan plan = placed(buffers, neighbours, order, best.bytes, &looks);
    if (plan.bytes > best.bytes) return;
    best = std::move(plan);
    best_order = order;
  };
  const auto time = [&](size_t b) { return int64_t{buffers[b].last} - buffers[b].first + 1; };
  const auto sorted = [&](const auto& before) {
    Order order = best_order;
    std::sort(order.begin(), order.end());
    std::stable_sort(order.begin(), order.end(), before);
    try_order(order);
  };
  sorted([&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  sorted([&](size_t a, size_t b) { return buffers[a].bytes * time(a) > buffers[b].bytes * time(b); });
  sorted([&](size_t a, size_t b) { return time(a) > time(b); });
  sorted([&](size_t a, size_t b) { return buffers[a].last > buffers[b].last; });
  // Orders the buffers by the memory in use during their lives, the largest first.
  std::vector<int64_t> pressure;
  for (const ArenaBuffer& b : buffers)
    pressure.push_back(*std::max_element(needed.begin() + b.first, needed.begin() + b.last + 1));
  sorted([&](size_t a, size_t b) {
    return std::pair(pressure[a], buffers[a].bytes) > std::pair(pressure[b], buffers[b].bytes);
  });
  std::mt19937_64 random(1);
  for (int i = 0; i < kMoves && looks < kMostLooks && best.bytes > bound && best_order.size() > 1; ++i) {
    Order order = best_order;
    // The buffer that ends highest goes somewhere in front, or any two change slots.
    size_t from = random() % order.size(), to = random() % order.size();
    if (i % 2 == 0) {
      const auto highest = std::find_if(order.begin(), order.end(),
                                        [&](size_t b) { return best.offsets[b] + buffers[b].bytes == best.bytes; });
      from = static_cast<size_t>(highest - order.begin());
      to = random() % (from + 1);
      std::rotate(order.begin() + static_cast<std::ptrdiff_t>(to), highest, highest + 1);
    } else {
      std::swap(order[from], order[to]);
    }
    try_order(order);
  }
  for (int64_t& offset : best.offsets) offset = std::max<int64_t>(offset, 0);
  best.bound = bound;
  return best;
}

}  // namespace hone
