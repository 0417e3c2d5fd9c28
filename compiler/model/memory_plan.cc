#include "compiler/model/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace hone {
namespace {

constexpr int64_t kAlignment = 64;  // bytes: of a cache line and of the widest vector
constexpr int kMoves = 4000;        // tries of the local search

using Order = std::vector<size_t>;

bool overlap(const ArenaBuffer& a, const ArenaBuffer& b) { return a.first <= b.last && b.first <= a.last; }

// Places buffers in this order, each as low as it fits.
MemoryPlan placed(const std::vector<ArenaBuffer>& buffers, const std::vector<std::vector<size_t>>& neighbours,
                  const Order& order, int64_t give_up) {
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), -1);
  std::vector<std::pair<int64_t, int64_t>> taken;  // begin and end of what a buffer may not touch
  for (const size_t b : order) {
    taken.clear();
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
    if (plan.bytes > give_up) break;  // worse than what is known
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

  std::vector<std::vector<size_t>> neighbours(buffers.size());
  for (size_t a = 0; a < buffers.size(); ++a)
    for (size_t b = 0; b < a; ++b)
      if (overlap(buffers[a], buffers[b])) neighbours[a].push_back(b), neighbours[b].push_back(a);

  Order best_order(buffers.size());
  std::iota(best_order.begin(), best_order.end(), size_t{0});
  MemoryPlan best = placed(buffers, neighbours, best_order, INT64_MAX);
  // As good is taken, too: the search walks on from there.
  const auto try_order = [&](const Order& order) {
    MemoryPlan plan = placed(buffers, neighbours, order, best.bytes);
    if (plan.bytes > best.bytes) return;
    best = std::move(plan);
    best_order = order;
  };
  const auto time = [&](size_t b) { return int64_t{buffers[b].last} - buffers[b].first + 1; };
  const auto sorted = [&](const auto& before) {
    Order order(buffers.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), before);
    try_order(order);
  };
  sorted([&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  sorted([&](size_t a, size_t b) { return buffers[a].bytes * time(a) > buffers[b].bytes * time(b); });
  sorted([&](size_t a, size_t b) { return time(a) > time(b); });
  sorted([&](size_t a, size_t b) { return buffers[a].last > buffers[b].last; });
  // Those first that are needed when most is.
  const auto pressure = [&](size_t b) {
    return *std::max_element(needed.begin() + buffers[b].first, needed.begin() + buffers[b].last + 1);
  };
  sorted([&](size_t a, size_t b) {
    return std::pair(pressure(a), buffers[a].bytes) > std::pair(pressure(b), buffers[b].bytes);
  });
  std::mt19937_64 random(1);
  for (int i = 0; i < kMoves && best.bytes > bound && buffers.size() > 1; ++i) {
    Order order = best_order;
    // The buffer that ends highest goes somewhere in front, or any two change places.
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
  best.bound = bound;
  return best;
}

}  // namespace hone
