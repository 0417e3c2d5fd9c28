#include "base/file_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/exit_code.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPart = ".part";

Status cannot(const std::string& path, const std::string& why) {
  return usage_error(fmt::format("{} cannot be written: {}", path, why));
}

bool is_same_inode(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// A writer holds the lock of its file until it is done or dead; unlike a process's id, the lock says so across
// containers and, where the file system has locks, machines.
void remove_unless_written(const std::string& fresh) {
  const int fd = open(fresh.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;  // gone already, or not ours to remove
  struct stat ours {};
  struct stat there {};
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &ours) == 0 && S_ISREG(ours.st_mode) &&
      lstat(fresh.c_str(), &there) == 0 && is_same_inode(ours, there))
    unlink(fresh.c_str());
  close(fd);
}

// Removes the files that killed builds of `path` left: PATH.PID.part, PATH.PID-N.part.
void remove_left(const fs::path& path) {
  const std::string begin = path.filename().string() + ".";
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.size() <= begin.size() + kPart.size() || !name.starts_with(begin) || !name.ends_with(kPart)) continue;
    const std::string_view writer =
        std::string_view(name).substr(begin.size(), name.size() - begin.size() - kPart.size());
    if (writer.find_first_not_of("0123456789-") == std::string_view::npos) remove_unless_written(it->path().string());
  }
}

}  // namespace

FileSet::~FileSet() {
  for (const Part& part : parts_) {
    if (!part.is_placed) unlink(part.fresh.c_str());
    close(part.lock);
  }
}

StatusOr<FileSet::Part> FileSet::make_part(const std::string& path) {
  constexpr int kTries = 1000;  // threads of this process, or of others of its number, may write the same file
  for (int i = 0; i < kTries; ++i) {
    const std::string fresh =
        i == 0 ? fmt::format("{}.{}{}", path, getpid(), kPart) : fmt::format("{}.{}-{}{}", path, getpid(), i, kPart);
    const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return cannot(path, std::strerror(errno));
    // Another process that looks for files without a writer may have come between: then the name is gone. It cannot
    // happen on a file system without locks.
    struct stat ours {};
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR) continue;
    if (fstat(fd, &ours) == 0 && ours.st_nlink > 0) return Part{path, fresh, fd};
    close(fd);
  }
  return cannot(path, "too many other programs write it");
}

Status FileSet::add(const std::string& path, const std::function<Status(std::ostream&)>& write) {
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (fs::is_directory(there)) return cannot(path, std::strerror(EISDIR));
  // A terminal, a pipe, /dev/null: these are written to, and a file must not take their place.
  const bool is_device = fs::exists(there) && fs::is_other(there);
  std::string fresh = path;
  if (!is_device) {
    remove_left(path);
    HONE_ASSIGN_OR_RETURN(Part part, make_part(path));
    fresh = part.fresh;
    parts_.push_back(std::move(part));
  }
  const Status written = [&] {
    errno = 0;
    std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
    if (!file) return cannot(path, std::strerror(errno));
    HONE_RETURN_IF_ERROR(write(file));
    errno = 0;
    file.close();
    // errno tells about close() only: after an earlier failure its value means nothing.
    return file.good() ? absl::OkStatus() : cannot(path, errno ? std::strerror(errno) : "the disk may be full");
  }();
  if (!written.ok() && !is_device) {
    unlink(fresh.c_str());
    close(parts_.back().lock);
    parts_.pop_back();
  }
  return written;
}

Status FileSet::add(const std::string& path, std::string_view text) { return add(path, {text}); }

Status FileSet::add(const std::string& path, std::initializer_list<std::string_view> parts) {
  return add(path, [&](std::ostream& file) {
    for (const std::string_view part : parts) file << part;
    return absl::OkStatus();
  });
}

std::vector<std::pair<std::string, std::string>> FileSet::written() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Part& part : parts_) out.emplace_back(part.path, part.fresh);
  return out;
}

bool FileSet::is_in_place(const Part& part) {
  struct stat ours {};
  struct stat there {};
  return fstat(part.lock, &ours) == 0 && stat(part.path.c_str(), &there) == 0 && is_same_inode(ours, there);
}

Status FileSet::commit() {
  if (parts_.empty()) return absl::OkStatus();
  const Part& last = parts_.back();
  if (parts_.size() > 1) {
    before_step();
    if (unlink(last.path.c_str()) != 0 && errno != ENOENT) return cannot(last.path, std::strerror(errno));
  }
  for (Part& part : parts_) {
    before_step();
    if (rename(part.fresh.c_str(), part.path.c_str()) != 0) return cannot(part.path, std::strerror(errno));
    part.is_placed = true;
  }
  for (const Part& part : parts_)
    if (!is_in_place(part) && is_in_place(last)) {
      unlink(last.path.c_str());
      return usage_error(fmt::format("{} was written by another build at the same time; build it again", part.path));
    }
  return absl::OkStatus();
}

}  // namespace hone
