#include "tracker/cli/tls_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/exit_code.h"

namespace hone::tracker {
namespace {

namespace fs = std::filesystem;
// Being written: worth nothing; and complete: its files are still to take their places.
constexpr const char *kPart = ".init-tls.part", *kDone = ".init-tls.done";

Status failed(const std::string& path, int error) {
  return usage_error(fmt::format("{}: {}", path, std::strerror(error)));
}

bool write_all(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return fsync(fd) == 0;
}

// fsync of the folder: the names in it are on the disk.
Status flush(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool done = fd >= 0 && fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  return done ? absl::OkStatus() : failed(folder, error);
}

}  // namespace

TlsFolder::TlsFolder(const std::string& path) : path_(fs::absolute(path).lexically_normal().string()) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
}

TlsFolder::~TlsFolder() {
  if (fd_ >= 0) close(fd_);
}

std::string TlsFolder::path(const std::string& name) const { return path_ + "/" + name; }
bool TlsFolder::has(const std::string& name) const { return fs::exists(path(name)); }

std::vector<std::string> TlsFolder::certificates() const {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(path_, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".pem") out.push_back(it->path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

Status TlsFolder::lock() {
  fd_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0) return failed(path_, errno);
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0)
    return usage_error(fmt::format("{}: another `tracker init-tls` is using this folder", path_));
  return absl::OkStatus();
}

Status TlsFolder::open() {
  if (!fs::exists(path_)) return absl::OkStatus();
  HONE_RETURN_IF_ERROR(lock());
  return has(kDone) ? move_in() : absl::OkStatus();
}

Status TlsFolder::add(const std::string& name, const std::string& text) {
  if (files_.contains(name)) return usage_error(fmt::format("{} would be made twice; nothing was changed", path(name)));
  if (has(name)) return usage_error(fmt::format("{} exists already; nothing was changed", path(name)));
  files_[name] = text;
  added_.insert(name);
  return absl::OkStatus();
}

Status TlsFolder::stage(const std::string& name, const std::string& text) const {
  const std::string fresh = path(kPart) + "/" + name;
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) return failed(fresh, errno);
  struct stat old {};
  bool done = true;
  if (stat(path(name).c_str(), &old) == 0) {
    // The owner is set first, then the mode: a group that can read the file now can read it without interruption.
    const bool same_owner =
        (old.st_uid == geteuid() && old.st_gid == getegid()) || fchown(fd, old.st_uid, old.st_gid) == 0;
    done = fchmod(fd, old.st_mode & (same_owner ? 0777u : 0700u)) == 0;
  }
  done = done && write_all(fd, text);
  const int error = errno;
  close(fd);
  return done ? absl::OkStatus() : failed(fresh, error);
}

Status TlsFolder::move_in() const {
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path(kDone), error))
    names.push_back(entry.path().filename().string());
  for (const std::string& name : names)
    if (!error) fs::rename(path(kDone) + "/" + name, path(name), error);
  if (!error) fs::remove(path(kDone), error);
  if (error) return usage_error(fmt::format("{}: {}; run `tracker init-tls` again to finish", path_, error.message()));
  return flush(path_);
}

Status TlsFolder::write() {
  umask(S_IRWXG | S_IRWXO);
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) return usage_error(fmt::format("{}: {}", path_, error.message()));
  if (fd_ < 0) HONE_RETURN_IF_ERROR(lock());
  for (const std::string& name : added_)
    if (has(name)) return usage_error(fmt::format("{} exists already; nothing was changed", path(name)));
  fs::remove_all(path(kPart), error);
  if (mkdir(path(kPart).c_str(), S_IRWXU) != 0) return failed(path(kPart), errno);
  Status staged = absl::OkStatus();
  for (const auto& [name, text] : files_)
    if (staged.ok()) staged = stage(name, text);
  if (staged.ok()) staged = flush(path(kPart));
  if (staged.ok() && rename(path(kPart).c_str(), path(kDone).c_str()) != 0) staged = failed(path(kDone), errno);
  if (!staged.ok()) {
    fs::remove_all(path(kPart), error);
    return staged;
  }
  HONE_RETURN_IF_ERROR(flush(path_));
  return move_in();
}

}  // namespace hone::tracker
