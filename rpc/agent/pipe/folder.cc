#include "rpc/agent/pipe/folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

namespace hone::agent {

namespace fs = std::filesystem;

uint64_t folder_bytes(const std::string& path) {
  uint64_t sum = 0;
  std::error_code error;
  for (auto i = fs::recursive_directory_iterator(path, error); !error && i != fs::recursive_directory_iterator();
       i.increment(error)) {
    struct stat info {};
    if (lstat(i->path().c_str(), &info) == 0) sum += static_cast<uint64_t>(info.st_blocks) * 512;
  }
  return sum;
}

Status empty_folder(const std::string& path) {
  std::error_code error;
  for (auto i = fs::directory_iterator(path, error); !error && i != fs::directory_iterator(); i.increment(error)) {
    std::error_code ignored;
    fs::remove_all(i->path(), ignored);
  }
  return error ? absl::InternalError(fmt::format("cannot clear {}: {}", path, error.message())) : absl::OkStatus();
}

}  // namespace hone::agent
