// TeamStore over SQL: all that SQLite and PostgreSQL have in common. A driver brings the connections.
#pragma once

#include <memory>

#include "db/team/miss_counter.h"
#include "db/team/sql.h"
#include "db/team/team_store.h"
#include "db/team/write_queue.h"

namespace hone::db {

class SqlTeamStore final : public TeamStore {
 public:
  /// Its tables are there (schema.h).
  explicit SqlTeamStore(std::unique_ptr<SqlDatabase> database);

  StatusOr<ExchangeCount> add(const RecordSet& records, const TeamPeer& peer, int64_t now_ms) override;
  StatusOr<TeamAnswer> ask(const TeamQuery& query, const TeamPeer& peer, int64_t now_ms) override;
  StatusOr<std::optional<PriorRow>> prior(const std::string& target_kind, const std::string& schema,
                                          const TeamPeer& peer) override;
  StatusOr<std::vector<TeamMiss>> misses(const std::string& target_kind, size_t limit) override;
  StatusOr<std::vector<TeamCoverage>> coverage(const TeamPeer& peer, const std::string& contains,
                                               const std::optional<TeamCoverage>& after, size_t limit) override;
  Status visit_all(const TeamPeer& peer,
                   const std::function<Status(const RecordSet&, const std::string& owner)>& visit) override;
  StatusOr<int64_t> remove_owner(const std::string& tenant) override;
  Status ping() override;

 private:
  std::unique_ptr<SqlDatabase> database_;
  WriteQueue queue_;
  MissCounter misses_;
};

// The parts of it, each in a file of its own. Each runs inside a transaction.

/// Rows that check_team_rows() took.
Status add_rows(SqlConnection& db, const RecordSet& records, const TeamPeer& peer, int64_t now_ms,
                ExchangeCount* count);
/// Why rows cannot be stored, as one line that names the first of them.
Status check_team_rows(const RecordSet& records);
/// `missed`: keys without a best of exactly theirs.
Status ask_rows(SqlConnection& db, const TeamQuery& query, const TeamPeer& peer, TeamAnswer* answer,
                std::vector<TeamKey>* missed);
Status cover_rows(SqlConnection& db, const TeamPeer& peer, const std::string& contains,
                  const std::optional<TeamCoverage>& after, size_t limit, std::vector<TeamCoverage>* lines);
Status visit_rows(SqlConnection& db, const TeamPeer& peer,
                  const std::function<Status(const RecordSet&, const std::string& owner)>& visit);
Status remove_rows(SqlConnection& db, const std::string& tenant, int64_t* trials);

// Rows of an owner `o` that a peer sees; NAME, ADMIN: parameters with its tenant and whether it is an admin.
#define HONE_SEEN(NAME, ADMIN) "(o.hidden = 0 OR o.name = " NAME " OR " ADMIN " = 1)"

/// The machine's state as a text of one column, and back.
SqlValue machine_text(const std::optional<MachineState>& machine);
std::optional<MachineState> read_machine(const SqlRow& row, int column);

}  // namespace hone::db
