// SQL as a team's store uses it: statements that SQLite and PostgreSQL understand alike, run by a driver for each
// (sqlite_team.cc, postgres_team.cc).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"

namespace hone::db {

struct SqlBytes {
  std::string bytes;
};
using SqlValue = std::variant<std::nullptr_t, int64_t, double, std::string, SqlBytes>;
/// ?1, ?2, ... of a statement.
using SqlValues = std::vector<SqlValue>;

inline SqlValue sql_value(const std::optional<double>& x) { return x ? SqlValue(*x) : SqlValue(nullptr); }
inline SqlValue sql_value(const std::optional<int64_t>& x) { return x ? SqlValue(*x) : SqlValue(nullptr); }
inline SqlValue sql_value(bool x) { return SqlValue(int64_t{x}); }

/// A statement: a literal, or a text that lives as long as the program. `types`: one letter a parameter: `i` a whole
/// number, `d` a double, `t` a text, `b` bytes.
struct Sql {
  const char* text;
  const char* types;
};

/// A row of a result, valid while it is visited. A NULL reads as 0 or "".
class SqlRow {
 public:
  virtual ~SqlRow() = default;
  virtual int64_t integer(int column) const = 0;
  virtual double real(int column) const = 0;
  virtual std::string text(int column) const = 0;
  virtual std::string bytes(int column) const = 0;
  virtual bool is_null(int column) const = 0;
  std::optional<double> maybe_real(int column) const {
    return is_null(column) ? std::nullopt : std::optional(real(column));
  }
  std::optional<int64_t> maybe_integer(int column) const {
    return is_null(column) ? std::nullopt : std::optional(integer(column));
  }
};

/// A connection inside a transaction; one thread at a time. Errors are Unavailable where they may pass, else those of
/// the database.
class SqlConnection {
 public:
  virtual ~SqlConnection() = default;

  /// Gets a row of the result, and which of the value lists it is of.
  using Visit = std::function<Status(size_t which, const SqlRow& row)>;
  /// Runs `sql` for each of the value lists; what changes rows (all but SELECT) in their order. The rows of a SELECT
  /// may come in any order where there are several lists. `visit` runs no statement.
  virtual Status run_each(const Sql& sql, const std::vector<SqlValues>& values, const Visit& visit) = 0;
  /// Statements without parameters, whose rows are dropped.
  virtual Status execute(const char* sql) = 0;

  Status run(
      const Sql& sql, SqlValues values = {},
      const std::function<Status(const SqlRow&)>& visit = [](const SqlRow&) { return absl::OkStatus(); }) {
    return run_each(sql, {std::move(values)}, [&](size_t, const SqlRow& row) { return visit(row); });
  }
  /// How many of the value lists gave a row: those that an INSERT ... RETURNING has stored.
  StatusOr<int64_t> count_rows(const Sql& sql, const std::vector<SqlValues>& values) {
    int64_t rows = 0;
    HONE_RETURN_IF_ERROR(run_each(sql, values, [&](size_t, const SqlRow&) { return ++rows, absl::OkStatus(); }));
    return rows;
  }
  /// The first column of the only row; null: there is none.
  StatusOr<std::optional<int64_t>> find_integer(const Sql& sql, SqlValues values = {}) {
    std::optional<int64_t> found;
    HONE_RETURN_IF_ERROR(
        run(sql, std::move(values), [&](const SqlRow& row) { return found = row.integer(0), absl::OkStatus(); }));
    return found;
  }
};

/// A database: connections for readers, and one writer at a time. Thread-safe.
class SqlDatabase {
 public:
  using Work = std::function<Status(SqlConnection&)>;

  virtual ~SqlDatabase() = default;
  /// `work` sees one state of the database from its first statement on, and changes nothing.
  virtual Status read(const Work& work) = 0;
  /// All that `work` writes is durable when this is ok; else, and where `work` fails, none of it is there (Unavailable:
  /// perhaps all of it). No other writer, of this or another process, works at the same time.
  virtual Status write(const Work& work) = 0;
};

}  // namespace hone::db
