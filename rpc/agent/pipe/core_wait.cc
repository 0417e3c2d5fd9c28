#include "rpc/agent/pipe/core_wait.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <string>

namespace hone::agent {
namespace {

// About the time slice that a scheduler gives to another thread before it switches back.
constexpr double kSwitchSeconds = 1e-3;
// Waking up takes a few microseconds on an idle core, and somewhat more where the thread that woke it still runs there.
constexpr double kWakeSeconds = 20e-6;
constexpr double kShare = 0.02;

}  // namespace

bool disturbs(const CoreWait& wait, double seconds) {
  return wait.seconds - static_cast<double>(wait.slices) * kWakeSeconds > kShare * seconds;
}

CoreWaitCounter::CoreWaitCounter() {
  DIR* tasks = opendir("/proc/self/task");
  if (!tasks) return;
  while (const dirent* entry = readdir(tasks)) {
    if (entry->d_name[0] == '.') continue;
    const int fd = open((std::string("/proc/self/task/") + entry->d_name + "/schedstat").c_str(), O_RDONLY | O_CLOEXEC);
    if (fd >= 0) fds_.push_back(fd);
  }
  closedir(tasks);
}

CoreWaitCounter::~CoreWaitCounter() {
  for (const int fd : fds_) close(fd);
}

CoreWait CoreWaitCounter::total() const {
  CoreWait sum;
  for (const int fd : fds_) {
    // Three numbers: nanoseconds on a core, nanoseconds ready for one, times that it got one.
    char text[80];
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n <= 0) continue;
    text[n] = '\0';
    uint64_t ran = 0, waited = 0, slices = 0;
    if (std::sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &ran, &waited, &slices) != 3) continue;
    sum.seconds += static_cast<double>(waited) * 1e-9;
    sum.slices += static_cast<int64_t>(slices);
  }
  rusage usage{};
  if (fds_.empty() && getrusage(RUSAGE_SELF, &usage) == 0)
    sum.seconds = static_cast<double>(usage.ru_nivcsw) * kSwitchSeconds;
  return sum;
}

}  // namespace hone::agent
