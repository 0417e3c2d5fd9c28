#include "base/command_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/exit_code.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

std::string resolved(const std::string& path) {
  std::error_code ignored;
  return fs::weakly_canonical(fs::absolute(path, ignored), ignored).string();
}

}  // namespace

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat of_a {};
  struct stat of_b {};
  const bool is_a = stat(a.c_str(), &of_a) == 0, is_b = stat(b.c_str(), &of_b) == 0;
  if (!is_a && !is_b) return resolved(a) == resolved(b);
  return is_a && is_b && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

void CommandFiles::reads(const std::string& what, const std::string& path) {
  if (!path.empty()) inputs_.push_back({what, path});
}

void CommandFiles::reads_folder(const std::string& what, const std::string& folder,
                                const std::vector<std::string>& extensions) {
  std::error_code error;
  if (folder.empty() || !fs::is_directory(folder, error)) return;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
  for (; !error && it != end; it.increment(error)) {
    if (it.depth() > 0) it.disable_recursion_pending();
    const std::string extension = it->path().extension().string();
    if (std::find(extensions.begin(), extensions.end(), extension) != extensions.end())
      inputs_.push_back({what, it->path().string()});
  }
}

void CommandFiles::writes(const std::string& what, const std::string& path) {
  std::error_code error;
  if (!path.empty() && !fs::is_other(fs::status(path, error))) outputs_.push_back({what, path});
}

Status CommandFiles::check() const {
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const auto& [what, path] = outputs_[o];
    for (const Named& in : inputs_)
      if (is_same_file(path, in.path))
        return usage_error(
            fmt::format("{} {}: the same file as {} {}, which is read; name another", what, path, in.what, in.path));
    for (size_t before = 0; before < o; ++before)
      if (const Named& other = outputs_[before]; is_same_file(path, other.path))
        return usage_error(fmt::format("{} {}: the same file as {} {}, which is written, too; name another", what, path,
                                       other.what, other.path));
  }
  return absl::OkStatus();
}

}  // namespace hone
