#include "base/writable.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/exit_code.h"

namespace hone {

Status check_writable(const std::string& path) {
  namespace fs = std::filesystem;
  const auto cannot = [&](const std::string& why) {
    return usage_error(fmt::format("{} cannot be written: {}", path, why));
  };
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (path.empty() || path.ends_with('/') || fs::is_directory(there)) return cannot(std::strerror(EISDIR));
  if (fs::exists(there) && fs::is_other(there))
    return access(path.c_str(), W_OK) == 0 ? absl::OkStatus() : cannot(std::strerror(errno));
  const fs::path parent = fs::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (!fs::is_directory(folder, error)) return cannot("there is no folder " + folder);
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return cannot(fmt::format("no file can be made in the folder {}: {}", folder, std::strerror(errno)));
  return absl::OkStatus();
}

}  // namespace hone
