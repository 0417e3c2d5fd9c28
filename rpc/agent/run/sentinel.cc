#include "rpc/agent/run/sentinel.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/clock.h"

namespace hone::agent {
namespace {

constexpr int kTurns = 4;
constexpr int kRounds = 80;

typedef float Lanes __attribute__((vector_size(16)));
constexpr size_t kChains = 12, kLinks = 42;
using Factors = std::array<Lanes, kChains * kLinks>;  // 8 KB: leaves most of a level-1 cache to the candidate

// Products with factors in memory keep the multipliers and the load ports busy: a sibling hyperthread takes a share of
// both, which work bound by latency would not notice.
Lanes work(const Factors& factors) {
  Lanes product[kChains];
  for (Lanes& p : product) p = Lanes{1, 1, 1, 1};
  for (int round = 0; round < kRounds; ++round) {
    for (size_t link = 0; link < kLinks; ++link) {
// Unrolled, the chains stay in registers. As elements of an array each product would wait until the one before it is
// stored.
#pragma GCC unroll 12
      for (size_t c = 0; c < kChains; ++c) product[c] *= factors[link * kChains + c];
    }
  }
  Lanes all = product[0];
  for (size_t c = 1; c < kChains; ++c) all *= product[c];
  return all;
}

// Makes the compiler believe that `value` is used.
void keep(Lanes value) { asm volatile("" : : "m"(value) : "memory"); }

constexpr int kSteps = 2000;

// As long as the latency of this many products.
float chain(float factor) {
  float product = 1;
  for (int i = 0; i < kSteps; ++i) {
    product *= factor;
    asm volatile("" : "+m"(factor));  // keeps the compiler from reordering the products
  }
  return product;
}

// How long a core keeps the lower clock after the last wide instruction: 0.67 ms were measured (Downs, "Gathering Intel
// on Intel AVX-512 Transitions", 2020), Intel's optimization manual says about 2 ms.
constexpr double kClockRecovers = 2e-3;
constexpr double kClockSlack = 1.05;

double seconds_of(const auto& run) {
  const auto start = SteadyClock().now();
  run();
  return std::chrono::duration<double>(SteadyClock().now() - start).count();
}

CoreReading read_this_core(const Factors& factors) {
  CoreReading best{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  for (int turn = 0; turn <= kTurns; ++turn) {
    const double worked = seconds_of([&] { keep(work(factors)); }),
                 chained = seconds_of([] { keep(Lanes{} + chain(1)); });
    if (turn == 0) continue;  // loads the factors into the cache
    best = {std::min(best.work, worked), std::min(best.chain, chained)};
  }
  return best;
}

struct Task {
  Factors factors;
  std::vector<CoreReading> cores;
};

int32_t read_chunk(int64_t begin, int64_t end, int32_t, void* closure) {
  Task& task = *static_cast<Task*>(closure);
  for (int64_t worker = begin; worker < end; ++worker)
    task.cores[static_cast<size_t>(worker)] = read_this_core(task.factors);
  return HONE_OK;
}

// Keeps the core awake: a sleeping core changes its clock, too.
void spin(double seconds) {
  const auto start = SteadyClock().now();
  while (std::chrono::duration<double>(SteadyClock().now() - start).count() < seconds) {
  }
}

}  // namespace

std::vector<CoreReading> read_cores(ThreadPool* pool) {
  Task task;
  // Every second step undoes the one before it.
  for (size_t i = 0; i < task.factors.size(); ++i) task.factors[i] = Lanes{} + (i / kChains % 2 == 0 ? 1.25F : 0.8F);
  const int workers = pool ? pool->workers() : 1;
  task.cores.resize(static_cast<size_t>(workers));
  if (pool)
    pool->on_each(&read_chunk, &task);
  else
    read_chunk(0, 1, 0, &task);
  return task.cores;
}

Sentinel::Sentinel(ThreadPool* pool) : Sentinel([pool] { return read_cores(pool); }, &spin) {}

Sentinel::Sentinel(std::function<std::vector<CoreReading>()> take, std::function<void(double)> pause)
    : take_(std::move(take)), pause_(std::move(pause)) {
  has_low_clock(take_());  // called before any kernel runs
}

bool Sentinel::has_low_clock(const std::vector<CoreReading>& cores) {
  shortest_chain_.resize(cores.size(), std::numeric_limits<double>::max());
  bool low = false;
  for (size_t i = 0; i < cores.size(); ++i) {
    low |= cores[i].chain > kClockSlack * shortest_chain_[i];
    shortest_chain_[i] = std::min(shortest_chain_[i], cores[i].chain);
  }
  return low;
}

std::vector<double> Sentinel::read() {
  const std::vector<CoreReading> first = take_();
  std::vector<CoreReading> second = first;
  if (has_low_clock(first)) {
    pause_(kClockRecovers);
    second = take_();
  }
  std::vector<double> seconds;
  for (size_t i = 0; i < first.size(); ++i)
    seconds.push_back(first[i].chain > kClockSlack * shortest_chain_[i] ? second[i].work : first[i].work);
  return seconds;
}

}  // namespace hone::agent
