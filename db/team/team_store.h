// The store behind a team's tophub: SQLite in one file, or PostgreSQL. One contract, which tests/unit/db_team runs
// against both.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "db/exchange.h"
#include "db/team/team_rows.h"

namespace hone::db {

/// Thread-safe: many threads may ask and add at a time. Errors are one line; Unavailable where the database does not
/// answer for now (it is restarted, its disk is full), and the same call may work later.
class TeamStore {
 public:
  virtual ~TeamStore() = default;

  /// Adds rows that `peer` brings: all of them or none, durable when it returns. Every row passes check_foreign(), else
  /// InvalidArgument that names the row; so do names of more than 200 bytes, texts that are not UTF-8, and more than
  /// 4,096 targets, spaces and layouts of one workload by one owner. A session belongs to the tenant that brought it
  /// first: PermissionDenied for rows of another's. Rows that are there already change nothing.
  virtual StatusOr<ExchangeCount> add(const RecordSet& records, const TeamPeer& peer, int64_t now_ms) = 0;

  /// Answers a query with all that `peer` may see. The bests of each owner follow from that owner's trials alone
  /// (best_store.h; no session ran here, so that the floor of plausible.h alone bounds a confirmation): nobody's row
  /// hides another's. Bounds for each workload: the key's target and each owner's 16 targets most like it, on each of
  /// them 32 spaces and layouts of an owner; of workloads near a key without any row, 8. InvalidArgument for a key that
  /// is not canonical.
  /// A key without a best of exactly its workload and target counts as a miss of `now_ms`, unless the peer hides its
  /// rows. Misses are written within a second: a process that is killed loses those of its last one.
  virtual StatusOr<TeamAnswer> ask(const TeamQuery& query, const TeamPeer& peer, int64_t now_ms) = 0;

  virtual StatusOr<std::optional<PriorRow>> prior(const std::string& target_kind, const std::string& schema,
                                                  const TeamPeer& peer) = 0;
  /// Misses of targets of the kind (empty: any), the most often asked first. A miss ends when a best of exactly its
  /// workload and target comes that everybody sees. The 100,000 most often asked for are kept.
  virtual StatusOr<std::vector<TeamMiss>> misses(const std::string& target_kind, size_t limit) = 0;
  /// Sorted by workload, target and owner, from behind `after` on (page by page); rows that `peer` may see. `contains`:
  /// a part of the workload's or the target's text; empty: any.
  virtual StatusOr<std::vector<TeamCoverage>> coverage(const TeamPeer& peer, const std::string& contains,
                                                       const std::optional<TeamCoverage>& after, size_t limit) = 0;
  /// Every session, trial, choice, definition and prior that `peer` may see, in the order of export_records(), with its
  /// owner, one owner after the other: for packages and backups. `visit` gets parts of a few thousand rows, all of one
  /// state of the database, which goes on meanwhile.
  virtual Status visit_all(const TeamPeer& peer,
                           const std::function<Status(const RecordSet&, const std::string& owner)>& visit) = 0;
  /// Removes the rows of a tenant (admins): what is derived from them goes with them. How many trials went.
  virtual StatusOr<int64_t> remove_owner(const std::string& tenant) = 0;
  /// Ok where a write would be answered now.
  virtual Status ping() = 0;
};

/// Opens (or makes) a file of its own kind: a tophub with the owners of its rows. `path`.
StatusOr<std::unique_ptr<TeamStore>> open_sqlite_team(const std::string& path);

/// Connects to PostgreSQL, makes or migrates the tables; `connections` of them are kept. `url`: postgresql://…, never
/// printed with its password.
StatusOr<std::unique_ptr<TeamStore>> open_postgres_team(const std::string& url, size_t connections = 4);

}  // namespace hone::db
