#include "db/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unordered_map>

#include "base/exit_code.h"
#include "base/log.h"
#include "db/sqlite_watch.h"

namespace hone::db {
namespace {

namespace fs = std::filesystem;

constexpr char kLostUrl[] = "hone/database-lost", kPassingUrl[] = "hone/database-passing";

Status lost(const std::string& line) {
  Status status = database_error(line);
  status.SetPayload(kLostUrl, absl::Cord());
  return status;
}

bool passes(int rc) {
  const int kind = rc & 0xff;
  return kind == SQLITE_BUSY || kind == SQLITE_LOCKED || kind == SQLITE_FULL || kind == SQLITE_IOERR ||
         kind == SQLITE_NOMEM;
}

Status passing(const std::string& line) {
  Status status = database_error(line);
  status.SetPayload(kPassingUrl, absl::Cord());
  return status;
}

// Codes that SQLite returns, among other reasons, when the file has been replaced or changed.
bool may_be_lost(int rc) {
  const int kind = rc & 0xff;
  return kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB || kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN ||
         kind == SQLITE_ERROR || kind == SQLITE_SCHEMA || rc == SQLITE_READONLY_DBMOVED;
}

// One line: what happened to the file, and what the user can do about it.
std::string explain(int rc, const std::string& path, std::string_view doing, const char* detail) {
  const std::string while_doing = doing.empty() ? "" : fmt::format(" while {}", doing);
  switch (rc & 0xff) {
    case SQLITE_NOTADB:
      return fmt::format(
          "{} is not a tophub: the file is not an SQLite database; choose another file with --db, or move it away",
          path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fmt::format("{} is locked by another program{}; wait for that program or end it, then try again", path,
                         while_doing);
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return fmt::format("{} is read-only{}; make the file and its folder writable, or choose another file with --db",
                         path, while_doing);
    case SQLITE_FULL:
      return fmt::format(
          "{} cannot grow: the disk is full{}; free some space and try again (what was committed is kept)", path,
          while_doing);
    case SQLITE_CORRUPT:
      return fmt::format(
          "{} is damaged{} ({}); restore a copy, or save what is left with the sqlite3 program's .recover", path,
          while_doing, detail);
    case SQLITE_CANTOPEN:
      return fmt::format("{} cannot be opened{} ({}); check that the file and its folder can be read and written", path,
                         while_doing, detail);
    case SQLITE_IOERR:
      return fmt::format("{}: reading or writing failed{} ({}); check the disk", path, while_doing, detail);
    case SQLITE_PROTOCOL:
      return fmt::format("{}: the file system's locks do not work{}; choose a file on a local disk with --db", path,
                         while_doing);
    default: return fmt::format("{}: SQLite error {}{}: {}", path, rc, while_doing, detail);
  }
}

const char* kind_of(const fs::file_status& file) {
  switch (file.type()) {
    case fs::file_type::fifo: return "pipe";
    case fs::file_type::socket: return "socket";
    case fs::file_type::block:
    case fs::file_type::character: return "device";
    default: return "special file";
  }
}

// Errors about the path that can be found before SQLite sees it: SQLite's own message ("unable to open database file")
// says less.
Status check_path(const std::string& path, const OpenOptions& options) {
  std::error_code ec;
  const fs::file_status file = fs::status(path, ec);
  const bool writing = options.mode == OpenMode::kReadWrite;
  if (fs::is_directory(file))
    return database_error(fmt::format("{} is a folder, not a tophub; name a file with --db", path));
  if (fs::exists(file) && !fs::is_regular_file(file))
    return database_error(fmt::format("{} is a {}, not a tophub; name a file with --db", path, kind_of(file)));
  if (!fs::exists(file)) {
    if (!writing)
      return database_error(
          fmt::format("{} does not exist; choose another file with --db, or let the tuner make one", path));
    const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
    if (options.create_folder) fs::create_directories(folder, ec);
    if (!fs::is_directory(folder))
      return database_error(fmt::format(
          "{} cannot be made: the folder {} does not exist{}; make the folder, or choose another file with --db", path,
          folder.string(), ec ? fmt::format(" ({})", ec.message()) : ""));
    if (access(folder.c_str(), W_OK) != 0)
      return database_error(fmt::format("{} cannot be made: the folder {} is read-only; choose another file with --db",
                                        path, folder.string()));
    return absl::OkStatus();
  }
  // A file without write permission is opened read-only, even where root could write it.
  const bool nobody = (file.permissions() &
                       (fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write)) == fs::perms::none;
  if (writing && (nobody || access(path.c_str(), W_OK) != 0))
    return database_error(explain(SQLITE_READONLY, path, "", ""));
  return absl::OkStatus();
}

// SQLite takes options of the file only in a URI.
std::string uri_of(const std::string& path, const OpenOptions& options) {
  std::string uri = "file:";
  for (const unsigned char c : path) {
    if (std::isalnum(c) || std::strchr("/._-~", c))
      uri += static_cast<char>(c);
    else
      uri += fmt::format("%{:02x}", c);
  }
  return uri + (options.mode == OpenMode::kImmutable ? "?immutable=1" : "");
}

// The error of a file system that cannot do WAL: locks do not work, or there is no shared memory.
bool means_no_wal(int rc) {
  const int kind = rc & 0xff;
  return kind == SQLITE_PROTOCOL || kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR;
}

bool is_empty_or_missing(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) != 0 || info.st_size == 0;
}

}  // namespace

// --- Statement ---

Statement::Statement(Statement&& other) noexcept
    : db_(other.db_), stmt_(std::exchange(other.stmt_, nullptr)), in_use_(std::exchange(other.in_use_, nullptr)) {}

Statement::~Statement() {
  if (!stmt_) return;
  if (!in_use_) {
    sqlite3_finalize(stmt_);
    return;
  }
  sqlite3_reset(stmt_);
  sqlite3_clear_bindings(stmt_);
  *in_use_ = false;
}

void Statement::rewind() { sqlite3_reset(stmt_); }

Status Statement::failed(int rc) const { return db_->failed(rc); }

StatusOr<bool> Statement::step() {
  const int rc = sqlite3_step(stmt_);
  if (rc == SQLITE_ROW) return true;
  if (rc == SQLITE_DONE) return false;
  const Status status = failed(rc);  // before the reset, which clears the connection's message
  sqlite3_reset(stmt_);
  return status;
}

Status Statement::run() {
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const bool row, step());
    if (!row) break;
  }
  sqlite3_reset(stmt_);  // a finished statement must not keep the transaction's snapshot
  return absl::OkStatus();
}

int Statement::bind_at(int at, int64_t value) { return sqlite3_bind_int64(stmt_, at, value); }
int Statement::bind_at(int at, double value) { return sqlite3_bind_double(stmt_, at, value); }
int Statement::bind_at(int at, std::string_view value) {
  return sqlite3_bind_text64(stmt_, at, value.empty() ? "" : value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}
int Statement::bind_at(int at, Blob value) {
  return sqlite3_bind_blob64(stmt_, at, value.bytes.empty() ? "" : value.bytes.data(), value.bytes.size(),
                             SQLITE_TRANSIENT);
}
int Statement::bind_null(int at) { return sqlite3_bind_null(stmt_, at); }

int64_t Statement::integer(int column) const { return sqlite3_column_int64(stmt_, column); }
double Statement::real(int column) const { return sqlite3_column_double(stmt_, column); }
std::string_view Statement::view(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(stmt_, column));
  return data ? std::string_view(data, static_cast<size_t>(sqlite3_column_bytes(stmt_, column))) : std::string_view();
}
std::string Statement::text(int column) const { return std::string(view(column)); }
bool Statement::is_null(int column) const { return sqlite3_column_type(stmt_, column) == SQLITE_NULL; }
std::optional<double> Statement::maybe_real(int column) const {
  return is_null(column) ? std::nullopt : std::optional(real(column));
}
std::optional<int64_t> Statement::maybe_integer(int column) const {
  return is_null(column) ? std::nullopt : std::optional(integer(column));
}

// --- Database ---

// Compiled statements by the address of their text: cached() takes literals, so the address is the identity.
struct Database::Cache {
  struct Entry {
    sqlite3_stmt* stmt = nullptr;
    bool in_use = false;
  };
  std::unordered_map<const char*, Entry> entries;
};

Database::Database(std::string path, sqlite3* handle, const OpenOptions& options)
    : path_(std::move(path)), handle_(handle), options_(options), cache_(std::make_unique<Cache>()) {}

Database::~Database() {
  for (auto& [sql, entry] : cache_->entries) sqlite3_finalize(entry.stmt);
  sqlite3_close(handle_);
}

Status Database::failed(int rc, std::string_view doing) {
  const std::string line = explain(rc, path_, doing, sqlite3_errmsg(handle_));
  if (!watch_ || !may_be_lost(rc)) return passes(rc) ? passing(line) : database_error(line);
  // A thorough check needs the write lock, which a reading statement may not have.
  const bool writing = sqlite3_txn_state(handle_, "main") == SQLITE_TXN_WRITE;
  HONE_RETURN_IF_ERROR(check_files(writing ? Moment::kCommitting : Moment::kAny));
  const bool damaged = (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB || rc == SQLITE_IOERR_SHORT_READ;
  return damaged ? lost(line) : passes(rc) ? passing(line) : database_error(line);
}

Status Database::check_files(Moment moment) {
  if (!watch_ || !lost_.ok()) return lost_;
  const FileWatch::Change change = moment == Moment::kCommitting  ? watch_->changed()
                                   : moment == Moment::kCommitted ? watch_->committed()
                                                                  : watch_->moved();
  if (change.what.empty()) return absl::OkStatus();
  std::string line = change.what + " while it was open; what was committed to it may be lost";
  if (!change.of_log)
    if (const std::string log = watch_->set_aside(); !log.empty()) line += fmt::format(" (its log is {} now)", log);
  return lost_ = lost(line);
}

bool is_passing(const Status& status) { return status.GetPayload(kPassingUrl).has_value(); }

bool is_lost(const Status& status) { return status.GetPayload(kLostUrl).has_value(); }

StatusOr<std::unique_ptr<Database>> Database::open(const std::string& path, const OpenOptions& options) {
  const bool memory = options.mode == OpenMode::kMemory;
  if (!memory) HONE_RETURN_IF_ERROR(check_path(path, options));
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE;
  if (memory)
    flags |= SQLITE_OPEN_MEMORY | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  else if (options.mode == OpenMode::kReadWrite)
    flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  else
    flags |= SQLITE_OPEN_READONLY;
  sqlite3* handle = nullptr;
  const std::string name = memory ? ":memory:" : uri_of(path, options);
  const int rc = sqlite3_open_v2(name.c_str(), &handle, flags, options.vfs.empty() ? nullptr : options.vfs.c_str());
  std::unique_ptr<Database> db(new Database(path, handle, options));  // even a failed open leaves a handle to close
  if (rc != SQLITE_OK) return db->failed(rc);
  if (options.mode == OpenMode::kReadWrite) db->watch_ = std::make_unique<FileWatch>(handle, path);
  const Status status = db->configure();
  // A WAL file in a folder where no side files can be made: readable as it is while nothing is pending in a -wal file.
  if (!status.ok() && options.mode == OpenMode::kReadOnly && is_empty_or_missing(path + "-wal")) {
    OpenOptions immutable = options;
    immutable.mode = OpenMode::kImmutable;
    auto second = open(path, immutable);
    if (second.ok()) return second;
  }
  HONE_RETURN_IF_ERROR(status);
  return db;
}

Status Database::configure() {
  sqlite3_busy_timeout(handle_, static_cast<int>(options_.busy_timeout.count()));
  HONE_RETURN_IF_ERROR(execute("PRAGMA foreign_keys = ON"));
  // Reads the header: says now, not at the first query, that this is no database.
  const int rc = sqlite3_exec(handle_, "PRAGMA schema_version", nullptr, nullptr, nullptr);
  if (rc != SQLITE_OK) {
    if (options_.mode != OpenMode::kReadWrite || !means_no_wal(rc)) return failed(rc);
    HONE_RETURN_IF_ERROR(leave_wal(sqlite3_errmsg(handle_)));
  }
  // 16 MB hold the inner pages of a million records: a lookup then reads one page from the file instead of seven.
  return execute("PRAGMA cache_size = -16384");
}

Status Database::start_writing() {
  if (options_.mode != OpenMode::kReadWrite || rollback_journal_) return absl::OkStatus();
  // Two processes that switch a new file at once: SQLite answers "busy" to one of them without waiting.
  for (auto waited = std::chrono::milliseconds(0);; waited += std::chrono::milliseconds(5)) {
    sqlite3_stmt* stmt = nullptr;
    int rc = sqlite3_prepare_v2(handle_, "PRAGMA journal_mode = WAL", -1, &stmt, nullptr);
    if (rc == SQLITE_OK) rc = sqlite3_step(stmt);
    const bool wal =
        rc == SQLITE_ROW && std::strcmp(reinterpret_cast<const char*>(sqlite3_column_text(stmt, 0)), "wal") == 0;
    const std::string why = rc == SQLITE_ROW ? "no shared memory" : sqlite3_errmsg(handle_);
    Status error = failed(rc);
    sqlite3_finalize(stmt);
    if (wal) {
      HONE_RETURN_IF_ERROR(query_integer("SELECT count(*) FROM sqlite_schema").status());  // opens the log
      if (watch_) watch_->begin();
      return execute("PRAGMA synchronous = NORMAL");
    }
    if (rc == SQLITE_ROW || means_no_wal(rc)) return leave_wal(why);
    if ((rc & 0xff) != SQLITE_BUSY || waited >= options_.busy_timeout) return error;
    sqlite3_sleep(5);
  }
}

Status Database::leave_wal(const std::string& why) {
  // A file in WAL mode is readable without shared memory only for a connection that has it to itself.
  HONE_RETURN_IF_ERROR(
      execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; PRAGMA locking_mode = NORMAL"));
  HONE_RETURN_IF_ERROR(query_integer("SELECT count(*) FROM sqlite_schema").status());  // lets go of the exclusive lock
  log::warn("{}: the file system cannot do SQLite's WAL mode ({}); using a rollback journal, which is slower", path_,
            why);
  rollback_journal_ = true;
  return execute("PRAGMA synchronous = NORMAL");
}

StatusOr<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* stmt = nullptr;
  const int rc = sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &stmt, nullptr);
  if (rc != SQLITE_OK) return failed(rc);
  return Statement(this, stmt, nullptr);
}

StatusOr<Statement> Database::cached(const char* sql) {
  Cache::Entry& entry = cache_->entries[sql];
  if (entry.in_use) return prepare(sql);  // a nested use of the same query
  if (!entry.stmt) {
    const int rc = sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &entry.stmt, nullptr);
    if (rc != SQLITE_OK) return failed(rc);
  }
  entry.in_use = true;
  return Statement(this, entry.stmt, &entry.in_use);
}

Status Database::execute(const char* sql) {
  const int rc = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  return rc == SQLITE_OK ? absl::OkStatus() : failed(rc);
}

StatusOr<int64_t> Database::query_integer(const char* sql) {
  HONE_ASSIGN_OR_RETURN(Statement q, prepare(sql));
  HONE_ASSIGN_OR_RETURN(const bool row, q.step());
  return row ? q.integer(0) : 0;
}

int64_t Database::changes() const { return sqlite3_changes64(handle_); }
int64_t Database::last_insert_id() const { return sqlite3_last_insert_rowid(handle_); }
bool Database::read_only() const { return sqlite3_db_readonly(handle_, "main") == 1; }

// --- Transaction ---

StatusOr<Transaction> Transaction::begin(Database& db) {
  HONE_RETURN_IF_ERROR(db.check_files(Database::Moment::kAny));
  HONE_RETURN_IF_ERROR(db.execute("BEGIN IMMEDIATE"));
  return Transaction(&db);
}

Status Transaction::commit() {
  HONE_RETURN_IF_ERROR(db_->check_files(Database::Moment::kCommitting));
  HONE_RETURN_IF_ERROR(db_->execute("COMMIT"));
  // Once more: if files were moved in between, this commit went with them.
  return std::exchange(db_, nullptr)->check_files(Database::Moment::kCommitted);
}

Transaction::~Transaction() {
  if (db_) (void)db_->execute("ROLLBACK");  // fails only where SQLite has rolled back by itself
}

}  // namespace hone::db
