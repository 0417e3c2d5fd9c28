#include "db/team/sql_store.h"

#include <algorithm>

#include "base/json.h"
#include "db/plausible.h"

namespace hone::db {
namespace {

#define HONE_PRIOR_FIELDS                                                                                         \
  "p.target_kind, p.schema, p.hone_version, p.created_at, p.group_count, p.trial_count, p.held_out, p.pairwise, " \
  "p.peak1, p.peak5, p.model"

// The peer's own first, then the latest.
constexpr Sql kPrior = {"SELECT " HONE_PRIOR_FIELDS
                        " FROM priors p JOIN owners o ON o.id = p.owner WHERE p.target_kind = ?1 AND p.schema = ?2 "
                        "AND " HONE_SEEN("?3", "?4") " ORDER BY o.name <> ?3, p.created_at DESC, p.model DESC LIMIT 1",
                        "ttti"};
constexpr Sql kMisses = {
    "SELECT workload, target, asked, first, last FROM misses WHERE ?1 = '' OR kind = ?1 "
    "ORDER BY asked DESC, last DESC, workload, target LIMIT ?2",
    "ti"};
constexpr Sql kPulse = {
    "INSERT INTO pulse (id, beats) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET beats = "
    "pulse.beats + 1",
    ""};

PriorRow read_prior(const SqlRow& row) {
  PriorRow p;
  p.target_kind = row.text(0), p.schema = row.text(1), p.hone_version = row.text(2), p.created_at = row.integer(3);
  p.groups = row.integer(4), p.trials = row.integer(5), p.held_out = row.integer(6);
  p.pairwise = row.maybe_real(7), p.peak1 = row.maybe_real(8), p.peak5 = row.maybe_real(9);
  p.model = row.bytes(10);
  return p;
}

}  // namespace

SqlTeamStore::SqlTeamStore(std::unique_ptr<SqlDatabase> database)
    : database_(std::move(database)), queue_(*database_), misses_(queue_) {}

StatusOr<ExchangeCount> SqlTeamStore::add(const RecordSet& records, const TeamPeer& peer, int64_t now_ms) {
  HONE_RETURN_IF_ERROR(check_team_rows(records));
  ExchangeCount count;
  HONE_RETURN_IF_ERROR(
      queue_.write([&](SqlConnection& db) { return add_rows(db, records, peer, now_ms, &(count = {})); }));
  return count;
}

StatusOr<TeamAnswer> SqlTeamStore::ask(const TeamQuery& query, const TeamPeer& peer, int64_t now_ms) {
  TeamAnswer answer;
  std::vector<TeamKey> missed;
  HONE_RETURN_IF_ERROR(database_->read([&](SqlConnection& db) {
    answer = {}, missed.clear();
    return ask_rows(db, query, peer, &answer, &missed);
  }));
  // Others are told what was missed: nothing of a peer that hides what it does.
  if (!peer.hides_rows) misses_.count(missed, now_ms);
  return answer;
}

StatusOr<std::optional<PriorRow>> SqlTeamStore::prior(const std::string& target_kind, const std::string& schema,
                                                      const TeamPeer& peer) {
  std::optional<PriorRow> prior;
  HONE_RETURN_IF_ERROR(database_->read([&](SqlConnection& db) {
    prior.reset();
    return db.run(kPrior, {target_kind, schema, peer.tenant, int64_t{peer.is_admin}},
                  [&](const SqlRow& row) { return prior = read_prior(row), absl::OkStatus(); });
  }));
  return prior;
}

StatusOr<std::vector<TeamMiss>> SqlTeamStore::misses(const std::string& target_kind, size_t limit) {
  HONE_RETURN_IF_ERROR(misses_.flush());
  std::vector<TeamMiss> misses;
  HONE_RETURN_IF_ERROR(database_->read([&](SqlConnection& db) {
    misses.clear();
    return db.run(kMisses, {target_kind, static_cast<int64_t>(limit)}, [&](const SqlRow& row) {
      misses.push_back({{row.text(0), row.text(1)}, row.integer(2), row.integer(3), row.integer(4)});
      return absl::OkStatus();
    });
  }));
  return misses;
}

StatusOr<std::vector<TeamCoverage>> SqlTeamStore::coverage(const TeamPeer& peer, const std::string& contains,
                                                           const std::optional<TeamCoverage>& after, size_t limit) {
  std::vector<TeamCoverage> lines;
  HONE_RETURN_IF_ERROR(database_->read([&](SqlConnection& db) {
    lines.clear();
    return cover_rows(db, peer, contains, after, limit, &lines);
  }));
  return lines;
}

Status SqlTeamStore::visit_all(const TeamPeer& peer,
                               const std::function<Status(const RecordSet&, const std::string& owner)>& visit) {
  return database_->read([&](SqlConnection& db) { return visit_rows(db, peer, visit); });
}

StatusOr<int64_t> SqlTeamStore::remove_owner(const std::string& tenant) {
  int64_t trials = 0;
  HONE_RETURN_IF_ERROR(queue_.write([&](SqlConnection& db) { return remove_rows(db, tenant, &(trials = 0)); }));
  return trials;
}

Status SqlTeamStore::ping() {
  return queue_.write([](SqlConnection& db) { return db.run(kPulse); });
}

SqlValue machine_text(const std::optional<MachineState>& m) {
  if (!m) return nullptr;
  const auto number = [](const std::optional<double>& x) { return x ? Json(*x) : Json(); };
  return Json::array({m->governor, number(m->temperature_before_c), number(m->temperature_after_c),
                      number(m->clock_before_mhz), number(m->clock_after_mhz), m->throttled})
      .dump();
}

std::optional<MachineState> read_machine(const SqlRow& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  const Json json = Json::parse(row.text(column), nullptr, /*allow_exceptions=*/false);
  if (!json.is_array() || json.size() != 6) return std::nullopt;
  const auto text = [&](size_t i) { return json[i].is_string() ? json[i].get<std::string>() : ""; };
  const auto number = [&](size_t i) {
    return json[i].is_number() ? std::optional(json[i].get<double>()) : std::nullopt;
  };
  return MachineState{text(0), number(1), number(2), number(3), number(4), text(5)};
}

}  // namespace hone::db
