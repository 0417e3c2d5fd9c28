#include "rpc/agent/sandbox/scratch_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace hone::agent {
namespace {

namespace fs = std::filesystem;

std::string prefix() { return fmt::format("hone-agent-{}-", getuid()); }

std::vector<std::string> parents() {
  std::vector<std::string> out = {"/dev/shm"};
  if (const char* tmp = std::getenv("TMPDIR"); tmp && *tmp) out.push_back(tmp);
  out.push_back("/tmp");
  return out;
}

// Containers often mount /dev/shm noexec: then nothing there can be loaded.
bool can_load_code(int fd) {
  void* map = mmap(nullptr, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  if (map == MAP_FAILED) return false;
  munmap(map, 1);
  return true;
}

// False where an agent that starts at the same moment took the folder for abandoned, in the moment before it is locked:
// it removes the folder then, or has.
bool lock(int fd) {
  struct stat file {};
  return flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &file) == 0 && file.st_nlink > 0;
}

void remove_abandoned(const std::string& parent) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    const std::string path = entry.path().string();
    if (!entry.path().filename().string().starts_with(prefix())) continue;
    const int fd = open((path + "/lock").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
    if (fd >= 0) close(fd);
  }
}

}  // namespace

StatusOr<ScratchFolder> ScratchFolder::make() {
  constexpr int kMostTries = 16;  // one is enough unless agents start at the same moment
  std::string why;
  for (const std::string& parent : parents()) {
    remove_abandoned(parent);
    bool is_taken = true;
    for (int n = 0; is_taken && n < kMostTries; ++n) {
      std::string path = parent + "/" + prefix() + "XXXXXX";
      if (!mkdtemp(path.data())) {
        why = fmt::format("{}: {}", parent, strerror(errno));
        break;
      }
      const int fd = open((path + "/lock").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      is_taken = fd >= 0 && !lock(fd);
      if (fd >= 0 && !is_taken && can_load_code(fd)) return ScratchFolder(path, fd);
      why = fmt::format("{}: {}", parent,
                        fd < 0     ? strerror(errno)
                        : is_taken ? "another program removes what is made there"
                                   : "mounted noexec");
      if (fd >= 0) close(fd);
      std::error_code ignored;
      fs::remove_all(path, ignored);
    }
  }
  return absl::PermissionDeniedError(fmt::format("no folder to put compiled candidates in ({})", why));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace hone::agent
