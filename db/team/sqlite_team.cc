#include "db/team/sqlite_team.h"

#include <filesystem>

#include "db/migrations.h"
#include "db/team/pool.h"
#include "db/team/schema.h"
#include "db/team/sql_store.h"
#include "db/team/team_store.h"

namespace hone::db {
namespace {

constexpr FileKind kTeamFile = {kTeamApplicationId, "a team's tophub", "name another file"};

// Errors that may pass are Unavailable for who asks a service.
Status as_team(const Status& status) { return is_passing(status) ? absl::UnavailableError(status.message()) : status; }

class Row final : public SqlRow {
 public:
  explicit Row(const Statement& statement) : statement_(statement) {}
  int64_t integer(int column) const override { return statement_.integer(column); }
  double real(int column) const override { return statement_.real(column); }
  std::string text(int column) const override { return statement_.text(column); }
  std::string bytes(int column) const override { return statement_.text(column); }
  bool is_null(int column) const override { return statement_.is_null(column); }

 private:
  const Statement& statement_;
};

class Connection final : public SqlConnection {
 public:
  explicit Connection(std::unique_ptr<Database> db) : db_(std::move(db)) {}

  Status run_each(const Sql& sql, const std::vector<SqlValues>& values, const Visit& visit) override {
    if (values.empty()) return absl::OkStatus();
    auto statement = db_->cached(sql.text);
    if (!statement.ok()) return as_team(statement.status());
    const Row row(*statement);
    for (size_t i = 0; i < values.size(); ++i) {
      HONE_RETURN_IF_ERROR(as_team(bind(*statement, values[i])));
      for (;;) {
        const StatusOr<bool> stepped = statement->step();
        if (!stepped.ok()) return as_team(stepped.status());
        if (!*stepped) break;
        HONE_RETURN_IF_ERROR(visit(i, row));
      }
    }
    return absl::OkStatus();
  }
  Status execute(const char* sql) override { return as_team(db_->execute(sql)); }
  Database& database() { return *db_; }

 private:
  static Status bind(Statement& statement, const SqlValues& values) {
    statement.rewind();
    for (size_t i = 0; i < values.size(); ++i) {
      const int at = static_cast<int>(i) + 1;
      HONE_RETURN_IF_ERROR(std::visit(
          [&](const auto& value) -> Status {
            using T = std::decay_t<decltype(value)>;
            if constexpr (std::is_same_v<T, SqlBytes>)
              return statement.bind_one(at, Blob{value.bytes});
            else if constexpr (std::is_same_v<T, std::nullptr_t>)
              return statement.bind_one(at, std::nullopt);
            else
              return statement.bind_one(at, value);
          },
          values[i]));
    }
    return absl::OkStatus();
  }

  std::unique_ptr<Database> db_;
};

class SqliteDatabase final : public SqlDatabase {
 public:
  SqliteDatabase(std::unique_ptr<Database> writer, std::vector<std::unique_ptr<Database>> readers)
      : writer_(std::move(writer)) {
    for (auto& reader : readers) readers_.put(std::make_unique<Connection>(std::move(reader)));
  }

  Status read(const Work& work) override {
    const auto reader = readers_.take();
    HONE_RETURN_IF_ERROR(reader->execute("BEGIN"));
    const Status status = work(*reader);
    const Status ended = reader->execute("COMMIT");
    return status.ok() ? ended : status;
  }

  Status write(const Work& work) override {
    std::lock_guard lock(mutex_);
    auto transaction = Transaction::begin(writer_.database());
    if (!transaction.ok()) return as_team(transaction.status());
    HONE_RETURN_IF_ERROR(work(writer_));
    return as_team(transaction->commit());
  }

 private:
  std::mutex mutex_;
  Connection writer_;  // under mutex_
  Pool<Connection> readers_;
};

}  // namespace

StatusOr<std::unique_ptr<SqlDatabase>> open_sqlite_database(const std::string& path, const SqliteTeamOptions& options) {
  OpenOptions open;
  open.vfs = options.vfs;
  open.busy_timeout = options.busy_timeout;
  HONE_ASSIGN_OR_RETURN(std::unique_ptr<Database> writer, Database::open(path, open));
  const std::span<const char* const> steps = team_migrations();
  HONE_RETURN_IF_ERROR(migrate(*writer, steps, static_cast<int64_t>(steps.size()), kTeamFile));
  if (options.durable) HONE_RETURN_IF_ERROR(writer->execute("PRAGMA synchronous = FULL"));
  open.mode = OpenMode::kReadOnly;
  std::vector<std::unique_ptr<Database>> readers;
  for (size_t i = 0; i < std::max<size_t>(options.readers, 1); ++i) {
    HONE_ASSIGN_OR_RETURN(readers.emplace_back(), Database::open(path, open));
  }
  return std::make_unique<SqliteDatabase>(std::move(writer), std::move(readers));
}

StatusOr<std::unique_ptr<TeamStore>> open_sqlite_team(const std::string& path) {
  HONE_ASSIGN_OR_RETURN(std::unique_ptr<SqlDatabase> database, open_sqlite_database(path));
  return std::make_unique<SqlTeamStore>(std::move(database));
}

}  // namespace hone::db
