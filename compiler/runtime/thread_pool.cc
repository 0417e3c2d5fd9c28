#include "compiler/runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

namespace hone {
namespace {

// The pool whose chunk this thread is running: a call from inside runs inline.
thread_local const void* t_inside = nullptr;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until `done()` or about `microseconds` have passed; true when done.
template <class Done>
bool spin(int microseconds, const Done& done) {
  if (done()) return true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

}  // namespace

bool pin_this_thread(int cpu) {
  if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;  // 0, this thread: a sandbox allows no other number
}

struct ThreadPool::State {
  // The current region; written before `generation` is incremented, read after the new generation was seen.
  HoneChunk body = nullptr;
  void* closure = nullptr;
  int64_t iterations = 0;
  int64_t grain = 0;
  int32_t active = 1;  // workers that have a chunk of this region

  alignas(64) std::atomic<uint64_t> generation{0};
  alignas(64) std::atomic<int32_t> pending{0};
  alignas(64) std::atomic<int64_t> claimed{0};  // iterations claimed so far, where workers claim them
  alignas(64) std::atomic<int32_t> result{0};
  std::atomic<bool> stop{false};
  std::atomic<int> sleepers{0};
  std::atomic<bool> caller_sleeps{false};
  std::atomic<bool> busy{false};

  std::mutex mutex;
  std::condition_variable work, finished;
  std::vector<std::thread> threads;
  int spin_us = 0;
  static constexpr int kLongestSpin = 10;  // times spin_us

  void run_chunks(int32_t worker) {
    if (grain == 0) return run_chunk(iterations * worker / active, iterations * (worker + 1) / active, worker);
    while (result.load(std::memory_order_relaxed) == 0) {
      const int64_t begin = claimed.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= iterations) return;
      run_chunk(begin, std::min(begin + grain, iterations), worker);
    }
  }

  void run_chunk(int64_t begin, int64_t end, int32_t worker) {
    if (begin >= end) return;
    const int32_t code = body(begin, end, worker, closure);
    int32_t none = 0;
    if (code != 0) result.compare_exchange_strong(none, code);
  }

  void worker_main(int32_t worker, const void* pool) {
    t_inside = pool;
    uint64_t seen = 0;
    // A sleeper takes some 25 us to wake up. Regions that follow each other slightly later than a worker stops spinning
    // would pay that every time: after a short sleep the worker spins longer, after a long one shorter again.
    int patience_us = spin_us;
    while (true) {
      const auto called = [&] { return generation.load() != seen || stop.load(); };
      if (!spin(patience_us, called)) {
        const auto start = std::chrono::steady_clock::now();
        {
          std::unique_lock<std::mutex> lock(mutex);
          ++sleepers;
          work.wait(lock, called);
          --sleepers;
        }
        const bool was_short =
            std::chrono::steady_clock::now() - start < std::chrono::microseconds(kLongestSpin * spin_us);
        patience_us =
            was_short ? std::min(2 * patience_us, kLongestSpin * spin_us) : std::max(patience_us / 2, spin_us);
      }
      if (stop.load()) return;
      seen = generation.load();
      // Every worker acknowledges every generation, with a chunk or without one: a late worker cannot mistake one
      // region for the next.
      if (worker < active) run_chunks(worker);
      if (pending.fetch_sub(1) == 1 && caller_sleeps.load()) {
        const std::lock_guard<std::mutex> lock(mutex);
        finished.notify_one();
      }
    }
  }
};

ThreadPool::ThreadPool(const ThreadPoolOptions& options) : state_(std::make_unique<State>()) {
  const int32_t workers = std::max(1, options.workers);
  runtime_ = {HONE_RUNTIME_ABI, workers, this,
              [](void* self, HoneChunk body, void* closure, int64_t iterations, int32_t max_workers, int64_t grain) {
                return static_cast<ThreadPool*>(self)->parallel_for(body, closure, iterations, max_workers, grain);
              }};
  state_->spin_us = options.spin_us;
  for (int32_t i = 1; i < workers; ++i) {
    const int cpu = static_cast<size_t>(i) < options.cpus.size() ? options.cpus[static_cast<size_t>(i)] : -1;
    state_->threads.emplace_back([this, i, cpu] {
      pin_this_thread(cpu);
      state_->worker_main(i, this);
    });
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->stop = true;
  }
  state_->work.notify_all();
  for (std::thread& t : state_->threads) t.join();
}

int32_t ThreadPool::parallel_for(HoneChunk body, void* closure, int64_t iterations, int32_t max_workers,
                                 int64_t grain) {
  State& s = *state_;
  if (iterations <= 0) return HONE_OK;
  const int32_t active = static_cast<int32_t>(std::min<int64_t>({runtime_.workers, max_workers, iterations}));
  bool idle = false;
  if (active <= 1 || t_inside == this || !s.busy.compare_exchange_strong(idle, true))
    return body(0, iterations, 0, closure);
  s.body = body;
  s.closure = closure;
  s.iterations = iterations;
  // Claims beyond the end, one a worker, stay near the number of iterations.
  s.grain = std::clamp<int64_t>(grain, 0, iterations);
  s.active = active;
  s.claimed.store(0, std::memory_order_relaxed);
  s.result = 0;
  s.pending = runtime_.workers - 1;
  s.generation.fetch_add(1);
  if (s.sleepers.load() > 0) {
    const std::lock_guard<std::mutex> lock(s.mutex);
    s.work.notify_all();
  }
  const void* outside = std::exchange(t_inside, this);
  s.run_chunks(0);
  t_inside = outside;
  const auto done = [&s] { return s.pending.load() == 0; };
  // Longer than it takes a sleeping worker to wake up and begin.
  if (!spin(State::kLongestSpin * s.spin_us, done)) {
    std::unique_lock<std::mutex> lock(s.mutex);
    s.caller_sleeps = true;
    s.finished.wait(lock, done);
    s.caller_sleeps = false;
  }
  const int32_t code = s.result.load();
  s.busy = false;
  return code;
}

PinnedCaller::PinnedCaller(int cpu) {
  cpu_set_t set;
  if (pthread_getaffinity_np(pthread_self(), sizeof set, &set) != 0 || !pin_this_thread(cpu)) return;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&set);
  before_.assign(bytes, bytes + sizeof set);
}

PinnedCaller::~PinnedCaller() {
  if (before_.empty()) return;
  cpu_set_t set;
  std::memcpy(&set, before_.data(), sizeof set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  if (pthread_getaffinity_np(pthread_self(), sizeof set, &set) != 0) return cpus;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) cpus.push_back(i);
  return cpus;
}

}  // namespace hone
