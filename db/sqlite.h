// SQLite as values: connections, statements and transactions that clean up after themselves and report errors as
// Status. Every error is a database_error (exit code 5) of one line: which file, what happened, what to do. The only
// files that see sqlite3.h are sqlite.cc and sqlite_watch.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hone::db {

class Database;
class FileWatch;

/// True of an error after which nothing that a connection wrote can be relied upon to be in the file: it was removed,
/// moved, replaced, cut or overwritten while it was open, or is damaged.
bool is_lost(const Status& status);

/// True of an error that may be gone when the same is tried again: another program's lock, a full disk, one that fails
/// to read or write.
bool is_passing(const Status& status);

/// Bytes bound as a BLOB; text is bound as std::string_view.
struct Blob {
  std::string_view bytes;
};

/// A prepared statement. Parameters are ?1, ?2, ... in the order given to bind(). Must not outlive its Database.
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  /// Binds all parameters: integers, bool, double, text, Blob, std::nullopt and std::optional of those. Texts are
  /// copied.
  template <class... T>
  Status bind(const T&... values) {
    rewind();
    int at = 0, rc = 0;
    ((rc = rc ? rc : bind_value(++at, values)), ...);
    return rc == 0 ? absl::OkStatus() : failed(rc);
  }
  /// Binds parameter `at`, from 1; the others stay as they are. After rewind().
  template <class T>
  Status bind_one(int at, const T& value) {
    const int rc = bind_value(at, value);
    return rc == 0 ? absl::OkStatus() : failed(rc);
  }
  /// Advances: true when there is a row, false when the statement is done.
  StatusOr<bool> step();
  /// Steps to the end; rows are dropped.
  Status run();
  /// Makes the statement ready to run again with the parameters it has.
  void rewind();

  // The current row's columns, from 0. A NULL reads as 0 or "".
  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;       ///< text or blob
  std::string_view view(int column) const;  ///< valid until the next step()
  bool is_null(int column) const;
  std::optional<double> maybe_real(int column) const;
  std::optional<int64_t> maybe_integer(int column) const;

 private:
  friend class Database;
  Statement(Database* db, sqlite3_stmt* stmt, bool* in_use) : db_(db), stmt_(stmt), in_use_(in_use) {}
  Status failed(int rc) const;

  int bind_at(int at, int64_t value);
  int bind_at(int at, double value);
  int bind_at(int at, std::string_view value);
  int bind_at(int at, Blob value);
  int bind_null(int at);
  template <class T>
  int bind_value(int at, const T& value) {
    if constexpr (std::is_same_v<T, std::nullopt_t>)
      return bind_null(at);
    else if constexpr (std::is_integral_v<T>)
      return bind_at(at, static_cast<int64_t>(value));
    else if constexpr (std::is_floating_point_v<T>)
      return bind_at(at, static_cast<double>(value));
    else if constexpr (std::is_same_v<T, Blob>)
      return bind_at(at, value);
    else
      return bind_at(at, std::string_view(value));
  }
  template <class T>
  int bind_value(int at, const std::optional<T>& value) {
    return value ? bind_value(at, *value) : bind_null(at);
  }

  Database* db_;
  sqlite3_stmt* stmt_;
  bool* in_use_;  // of the cache's entry; null when the statement is this object's own
};

enum class OpenMode {
  kReadWrite,  ///< created when missing
  kReadOnly,   ///< must exist; sees what others commit meanwhile
  kImmutable,  ///< must exist; the file does not change while it is open: no locks, no side files
  kMemory,     ///< private, empty, gone when closed; the path is only a name for messages
};

struct OpenOptions {
  OpenMode mode = OpenMode::kReadWrite;
  /// How long a statement waits for another connection's lock before it fails.
  std::chrono::milliseconds busy_timeout{5000};
  /// Create the file's folder when it is missing (for the user's default path, not for a path that was typed).
  bool create_folder = false;
  /// An SQLite VFS, e.g. "unix-dotfile" on file systems without POSIX locks; empty: the default one.
  std::string vfs;
};

/// One connection, to be used by one thread at a time. Foreign keys are on.
class Database {
 public:
  static StatusOr<std::unique_ptr<Database>> open(const std::string& path, const OpenOptions& options = {});
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  StatusOr<Statement> prepare(std::string_view sql);
  /// As prepare(), but keeps the compiled statement for the next call with the same `sql`, which must be a literal (or
  /// otherwise outlive the connection).
  StatusOr<Statement> cached(const char* sql);
  /// Runs `sql` (one or more statements without parameters); rows are dropped.
  Status execute(const char* sql);
  /// The first column of the first row as an integer; 0 when there is none.
  StatusOr<int64_t> query_integer(const char* sql);

  /// Before the first write of a read-write connection: WAL mode, or a rollback journal (and a logged warning) where
  /// the file system cannot do WAL; synchronous NORMAL. Apart from open() so that a file that turns out to be another
  /// program's is left as it is. Does nothing for the other modes.
  Status start_writing();

  /// Rows changed by the last INSERT, UPDATE or DELETE.
  int64_t changes() const;
  int64_t last_insert_id() const;
  const std::string& path() const { return path_; }
  bool read_only() const;

 private:
  friend class Statement;
  friend class Transaction;
  struct Cache;
  Database(std::string path, sqlite3* handle, const OpenOptions& options);
  Status configure();
  Status leave_wal(const std::string& why);
  Status failed(int rc, std::string_view doing = "");
  // Whether the files are still the ones that were opened. kCommitting: with the write lock, a thorough look.
  enum class Moment { kAny, kCommitting, kCommitted };
  Status check_files(Moment moment);

  std::string path_;
  sqlite3* handle_;
  OpenOptions options_;
  bool rollback_journal_ = false;
  std::unique_ptr<FileWatch> watch_;  // of a read-write connection
  Status lost_;                       // the error, once the files have changed
  std::unique_ptr<Cache> cache_;
};

/// BEGIN IMMEDIATE; rolled back when destroyed without commit(). An error of commit() for which is_lost() holds does
/// not say whether the transaction is in the file: there is no such file any more.
class Transaction {
 public:
  static StatusOr<Transaction> begin(Database& db);
  Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(Database* db) : db_(db) {}
  Database* db_;
};

/// BEGIN, until it is destroyed: reads in it see one state of the file, and take its lock once. Reads are what they are
/// without it where it cannot begin.
class ReadTransaction {
 public:
  explicit ReadTransaction(Database& db) : db_(db), has_begun_(db.execute("BEGIN").ok()) {}
  ~ReadTransaction() {
    if (has_begun_) (void)db_.execute("COMMIT");
  }
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;

 private:
  Database& db_;
  const bool has_begun_;
};

}  // namespace hone::db
