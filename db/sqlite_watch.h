// Notices that the files of an open database are no longer the ones that were opened: removed, moved, replaced, cut or
// overwritten by a program that does not keep SQLite's locks. SQLite itself would go on writing to files that cannot be
// opened any more, or apply one database's log to another.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

struct sqlite3;

namespace hone::db {

/// The files of one read-write connection: the database and, in WAL mode, its log. No file is opened here: closing one
/// would let go of the locks that SQLite has on it.
class FileWatch {
 public:
  FileWatch(sqlite3* handle, std::string path);

  /// A change to a file, as a phrase that begins with the file's name; empty: there is none.
  struct Change {
    std::string what;
    bool of_log = false;  ///< the database itself is where and as it was
  };

  /// Once the journal mode is settled: remembers the log and the database's first bytes.
  void begin();
  /// Whether a file is gone from its name. Cheap (two stats), and may be asked at any time.
  Change moved() const;
  /// The same and whether they were cut or overwritten; only inside a write transaction, whose lock keeps other
  /// connections from changing them meanwhile.
  Change changed();
  /// After a commit: its own changes do not count. Whether a file is gone from its name since changed().
  Change committed();
  /// After a change of the database: moves its log away from its path, where another database may lie now or later, and
  /// keeps SQLite from writing the one into the other. The log's new name; empty where there is none.
  std::string set_aside();

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const Identity&) const = default;
  };
  static std::optional<Identity> identity(const std::string& path);

  // The state of a log (the header of SQLite's wal-index, see its file format), and of the database between two
  // checkpoints: only those write to it.
  struct LogState {
    uint64_t page_size = 0, frames = 0, pages = 0;
    uint32_t salt[2] = {}, written_back = 0;
    bool same_checkpoint(const LogState& o) const {
      return salt[0] == o.salt[0] && salt[1] == o.salt[1] && written_back == o.written_back;
    }
  };
  struct Database {
    LogState log;
    std::array<char, 100> header = {};
    int64_t size = 0;
  };
  std::optional<LogState> read_log_state() const;
  std::optional<Database> read_database() const;
  bool log_is_cut(const LogState& log) const;

  sqlite3* handle_;
  std::string path_, real_path_, log_path_;  // path_: for messages; real_path_: without symbolic links
  std::optional<Identity> file_, log_;       // log_: null without WAL
  std::optional<Database> seen_;
  bool had_bytes_ = false;
};

}  // namespace hone::db
