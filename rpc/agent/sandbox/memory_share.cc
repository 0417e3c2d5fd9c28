#include "rpc/agent/sandbox/memory_share.h"

#include <absl/strings/str_split.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <vector>

namespace hone::agent {
namespace {

constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();
// A conv2d candidate takes a builder about 150 MB; a module that needs 6 GiB is not worth compiling.
constexpr uint64_t kLeastBuilderBytes = uint64_t{256} << 20, kAmpleBuilderBytes = uint64_t{512} << 20,
                   kMostBuilderBytes = uint64_t{6} << 30;
// A session may use all builders at once: two sessions that take turns need twice as many processes, and so on.
constexpr int kMostSessions = 4;

uint64_t physical_memory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// kNone: no limit ("max", a number beyond all memory, no file).
uint64_t limit_in(const std::string& file) {
  std::ifstream in(file);
  uint64_t bytes = kNone;
  return in >> bytes && bytes > 0 ? bytes : kNone;
}

// The limits of the group and all groups above it. In a container the path may be the host's, and only its end exists
// here, as the root: so every suffix is tried.
uint64_t limit_up_from(const std::string& mount, std::string path, const std::string& file) {
  uint64_t least = limit_in(mount + "/" + file);
  while (path.size() > 1) {
    least = std::min(least, limit_in(mount + path + "/" + file));
    path.resize(std::min(path.rfind('/'), path.size()));
  }
  return least;
}

bool has_word(const std::string& list, std::string_view word) {
  const std::vector<std::string> words = absl::StrSplit(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

uint64_t usable_memory(const std::string& root) {
  uint64_t least = physical_memory();
  const std::string groups = root + "/sys/fs/cgroup";
  std::ifstream own(root + "/proc/self/cgroup");
  // NUMBER:CONTROLLERS:PATH; version 2 has no controllers there, and lies beside version 1 where both are used.
  for (std::string line; std::getline(own, line);) {
    const size_t first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty())
      for (const char* mount : {"", "/unified"})
        least = std::min(least, limit_up_from(groups + mount, path, "memory.max"));
    else if (has_word(controllers, "memory"))
      least = std::min(least, limit_up_from(groups + "/memory", path, "memory.limit_in_bytes"));
  }
  return least;
}

MemoryShares share_memory(uint64_t usable, int devices, int builders) {
  const uint64_t all = usable / 8 * 3 / static_cast<uint64_t>(std::max(devices, 1));
  MemoryShares shares;
  shares.runner_bytes = all;
  shares.builders =
      static_cast<int>(std::clamp<uint64_t>(all / kLeastBuilderBytes, 1, static_cast<uint64_t>(std::max(builders, 1))));
  shares.builder_processes =
      static_cast<int>(std::clamp<uint64_t>(all / kAmpleBuilderBytes, static_cast<uint64_t>(shares.builders),
                                            static_cast<uint64_t>(kMostSessions * shares.builders)));
  shares.builder_bytes = std::min(all / static_cast<uint64_t>(shares.builder_processes), kMostBuilderBytes);
  return shares;
}

}  // namespace hone::agent
