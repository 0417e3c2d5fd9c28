#include "db/sqlite_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace hone::db {
namespace {

// SQLite's documented layout of the wal-index: two copies of a header, then how many frames were written back.
constexpr int kIndexBytes = 32768, kWrittenBackAt = 96, kCheckpointLock = 1;
constexpr uint64_t kLogHeader = 32, kFrameHeader = 24, kSaltAt = 16;

sqlite3_file* file_of(sqlite3* handle, int which) {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(handle, "main", which, &file) != SQLITE_OK || !file || !file->pMethods) return nullptr;
  return file;
}

template <class T>
T read_at(const volatile void* base, int offset) {
  T value;
  std::memcpy(&value, const_cast<const char*>(static_cast<const volatile char*>(base)) + offset, sizeof value);
  return value;
}

// Holds off checkpoints while it lives; `held` is false while another connection is at one.
class NoCheckpoint {
 public:
  explicit NoCheckpoint(sqlite3_file* file) : file_(file) {
    held = file_->pMethods->xShmLock(file_, kCheckpointLock, 1, SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE) == SQLITE_OK;
  }
  ~NoCheckpoint() {
    if (held) file_->pMethods->xShmLock(file_, kCheckpointLock, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
  }
  NoCheckpoint(const NoCheckpoint&) = delete;
  NoCheckpoint& operator=(const NoCheckpoint&) = delete;
  bool held = false;

 private:
  sqlite3_file* file_;
};

bool has_shared_memory(sqlite3_file* file) {
  return file && file->pMethods->iVersion >= 2 && file->pMethods->xShmMap && file->pMethods->xShmLock;
}

}  // namespace

std::optional<FileWatch::Identity> FileWatch::identity(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return Identity{info.st_dev, info.st_ino};
}

FileWatch::FileWatch(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {
  const char* name = sqlite3_db_filename(handle_, "main");
  real_path_ = name && *name ? name : path_;
  log_path_ = name && *name ? sqlite3_filename_wal(name) : path_ + "-wal";
  file_ = identity(real_path_);
}

void FileWatch::begin() {
  // The log of a rollback journal's database is made and removed with each transaction.
  if (!has_shared_memory(file_of(handle_, SQLITE_FCNTL_FILE_POINTER)) || !read_log_state()) return;
  log_ = identity(log_path_);
  seen_ = read_database();
}

FileWatch::Change FileWatch::moved() const {
  if (!file_) return {};  // a name that only SQLite's VFS knows
  const std::optional<Identity> file = identity(real_path_), log = log_ ? identity(log_path_) : std::nullopt;
  int elsewhere = 0;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &elsewhere);
  if (!file) return {path_ + " was removed or moved away"};
  if (file != file_ || elsewhere != 0) return {path_ + " was replaced by another file"};
  if (log_ && !log) return {log_path_ + " was removed or moved away", true};
  if (log != log_) return {log_path_ + " was replaced by another file", true};
  return {};
}

std::optional<FileWatch::LogState> FileWatch::read_log_state() const {
  sqlite3_file* file = file_of(handle_, SQLITE_FCNTL_FILE_POINTER);
  volatile void* index = nullptr;
  if (!has_shared_memory(file) || file->pMethods->xShmMap(file, 0, kIndexBytes, 0, &index) != SQLITE_OK || !index)
    return std::nullopt;
  LogState log;
  const auto size = read_at<uint16_t>(index, 14);
  log.page_size = (size & 0xfe00U) | (static_cast<uint64_t>(size & 1U) << 16);
  log.frames = read_at<uint32_t>(index, 16), log.pages = read_at<uint32_t>(index, 20);
  log.salt[0] = read_at<uint32_t>(index, 32), log.salt[1] = read_at<uint32_t>(index, 36);
  log.written_back = read_at<uint32_t>(index, kWrittenBackAt);
  return log;
}

std::optional<FileWatch::Database> FileWatch::read_database() const {
  sqlite3_file* file = file_of(handle_, SQLITE_FCNTL_FILE_POINTER);
  if (!has_shared_memory(file)) return std::nullopt;
  const NoCheckpoint quiet(file);
  if (!quiet.held) return std::nullopt;
  const std::optional<LogState> log = read_log_state();
  Database now;
  sqlite3_int64 size = 0;
  if (!log || file->pMethods->xFileSize(file, &size) != SQLITE_OK) return std::nullopt;
  now.log = *log, now.size = size;
  const int rc = file->pMethods->xRead(file, now.header.data(), static_cast<int>(now.header.size()), 0);
  if (rc != SQLITE_OK && rc != SQLITE_IOERR_SHORT_READ) return std::nullopt;  // missing bytes read as zeros
  return now;
}

bool FileWatch::log_is_cut(const LogState& log) const {
  sqlite3_file* file = file_of(handle_, SQLITE_FCNTL_JOURNAL_POINTER);
  sqlite3_int64 size = 0;
  if (log.frames == 0 || !file || file->pMethods->xFileSize(file, &size) != SQLITE_OK) return false;
  if (static_cast<uint64_t>(size) < kLogHeader + log.frames * (kFrameHeader + log.page_size)) return true;
  // Cut in the midst of a commit it is long enough again, with a hole where its header was.
  std::array<char, kLogHeader> header = {};
  return file->pMethods->xRead(file, header.data(), static_cast<int>(header.size()), 0) == SQLITE_OK &&
         std::memcmp(header.data() + kSaltAt, log.salt, sizeof log.salt) != 0;
}

FileWatch::Change FileWatch::changed() {
  if (Change c = moved(); !c.what.empty()) return c;
  struct stat info {};
  if (stat(real_path_.c_str(), &info) == 0 && info.st_size == 0 && had_bytes_) return {path_ + " was cut to nothing"};
  had_bytes_ = had_bytes_ || info.st_size > 0;
  const std::optional<LogState> log = log_ ? read_log_state() : std::nullopt;
  if (!log) return {};
  const std::optional<Database> now = read_database();
  if (now && static_cast<uint64_t>(now->size) < now->log.page_size) return {path_ + " was cut"};
  if (now && now->log.written_back >= now->log.frames &&
      static_cast<uint64_t>(now->size) < now->log.pages * now->log.page_size)
    return {path_ + " was cut"};
  if (now && seen_ && seen_->log.same_checkpoint(now->log)) {
    if (now->size < seen_->size) return {path_ + " was cut"};
    if (now->header != seen_->header) return {path_ + " was overwritten"};
  }
  if (log_is_cut(*log)) return {log_path_ + " was cut", true};
  if (now) seen_ = now;
  return {};
}

FileWatch::Change FileWatch::committed() {
  // The first commit of a log gives it new salts: afterwards the next check could not tell whether another program
  // wrote to the database.
  if (log_)
    if (const std::optional<Database> now = read_database()) seen_ = now;
  return moved();
}

std::string FileWatch::set_aside() {
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  if (!log_ || identity(log_path_) != log_) return "";
  for (int i = 1; i < 1000; ++i) {
    std::string name = fmt::format("{}.aside{}", log_path_, i == 1 ? "" : fmt::format("-{}", i));
    if (renameat2(AT_FDCWD, log_path_.c_str(), AT_FDCWD, name.c_str(), RENAME_NOREPLACE) == 0) {
      unlink((real_path_ + "-shm").c_str());  // the log's index, which the next to open the path would take for its own
      return name;
    }
    if (errno != EEXIST) break;
  }
  return "";
}

}  // namespace hone::db
