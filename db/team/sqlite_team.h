// A team's tophub in one SQLite file, of a kind of its own (tophub serve opens it): one writer, a few readers beside it
// (WAL).
//
// A write that was answered outlives the death of the process and a power cut (synchronous=FULL: each commit waits for
// the disk, as far as that tells the truth; writers that wait together share one).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "db/sqlite.h"
#include "db/team/sql.h"

namespace hone::db {

struct SqliteTeamOptions {
  size_t readers = 4;
  /// Whether a commit waits for the disk. Without it a power cut may take the last commits (those since a checkpoint),
  /// and leaves the file whole.
  bool durable = true;
  std::chrono::milliseconds busy_timeout{5000};  ///< how long a write waits for another program's
  std::string vfs;                               ///< as OpenOptions
};

/// The driver under open_sqlite_team(), whose file it opens or makes, with the tables of schema.h.
StatusOr<std::unique_ptr<SqlDatabase>> open_sqlite_database(const std::string& path,
                                                            const SqliteTeamOptions& options = {});

}  // namespace hone::db
