#include "compiler/runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "compiler/runtime/pool/pool.h"

namespace hone {

bool pin_this_thread(int cpu) {
  if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;  // 0, this thread: a sandbox allows no other number
}

ThreadPool::ThreadPool(const ThreadPoolOptions& options)
    : runtime_(hone_internal_pool_new(std::max(1, options.workers))) {
  HONE_USER_CHECK(runtime_) << "cannot start " << options.workers << " threads: " << strerror(errno);
  if (options.cpus.empty()) return;
  const HoneChunk pin = [](int64_t worker, int64_t, int32_t, void* cpus) -> int32_t {
    const auto& all = *static_cast<const std::vector<int>*>(cpus);
    if (worker > 0 && worker < std::ssize(all)) pin_this_thread(all[static_cast<size_t>(worker)]);
    return HONE_OK;
  };
  on_each(pin, const_cast<std::vector<int>*>(&options.cpus));
}

ThreadPool::~ThreadPool() { hone_internal_pool_free(runtime_); }

int32_t ThreadPool::on_each(HoneChunk body, void* closure) {
  return hone_internal_pool_on_each(runtime_, body, closure);
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
