// All rows, owner by owner, in parts; and the removal of an owner's.
#include <algorithm>
#include <map>
#include <tuple>

#include "db/team/sql_store.h"

namespace hone::db {
namespace {

constexpr size_t kMostOfAPart = 2000;  // rows
constexpr size_t kMostModels = 4;      // a prior's model may have megabytes, as a definition's text

constexpr Sql kAllOwners = {
    "SELECT o.id, o.name FROM owners o WHERE " HONE_SEEN("?1", "?2") " ORDER BY o.name, o.hidden", "ti"};
constexpr Sql kAllSessions = {
    "SELECT uuid, workload, target, space, searcher, seed, started, ended, state FROM sessions WHERE owner = ?1 AND "
    "state <> 'implied' AND (started, uuid) > (?2, ?3) ORDER BY started, uuid LIMIT ?4",
    "iiti"};
constexpr Sql kAllKeys = {
    "SELECT k.id, w.text, g.text, k.space, k.in_layout, k.out_layout FROM keys k JOIN workloads w ON w.id = k.workload "
    "JOIN targets g ON g.id = k.target WHERE k.owner = ?1 ORDER BY w.text, g.text, k.id",
    "i"};
constexpr Sql kAllTrials = {
    "SELECT s.uuid, t.seq, t.candidate, r.template, r.revision, t.config, t.module_hash, t.status, t.message, t.times, "
    "t.seconds, t.censored, t.confirmed, t.rel_error, t.max_error, t.queue_s, t.transfer_s, t.build_s, t.check_s, "
    "t.run_s, t.reference_s, r.device, r.device_model, r.profile, r.hone_version, r.codegen_version, "
    "t.sentinel_before, t.sentinel_after, t.created_at, t.features, t.missing, d.trial IS NOT NULL, d.default_s, "
    "t.machine FROM trials t JOIN sessions s ON s.id = t.session JOIN origins r ON r.id = t.origin "
    "LEFT JOIN disturbed_trials d ON d.trial = t.id WHERE t.key = ?1",
    "i"};
constexpr Sql kAllChoices = {
    "SELECT w.text, g.text, c.space, c.config, c.instead_of, c.seconds, c.instead_seconds, c.created_at FROM choices c "
    "JOIN workloads w ON w.id = c.workload JOIN targets g ON g.id = c.target WHERE c.owner = ?1 "
    "ORDER BY w.text, g.text, c.space, c.instead_of",
    "i"};
constexpr Sql kAllDefinitions = {
    "SELECT hash, kind, text FROM definitions WHERE owner = ?1 AND (hash, kind) > (?2, ?3) "
    "ORDER BY hash, kind LIMIT ?4",
    "itti"};
constexpr Sql kAllPriors = {
    "SELECT target_kind, schema, hone_version, created_at, group_count, trial_count, held_out, pairwise, peak1, peak5, "
    "model FROM priors WHERE owner = ?1 AND (target_kind, schema) > (?2, ?3) ORDER BY target_kind, schema LIMIT ?4",
    "itti"};

struct VisitedKey {
  int64_t id;
  std::string workload, target, space, in_layout, out_layout;
};

TrialRow read_trial(const SqlRow& row, const VisitedKey& key) {
  TrialRow t;
  int c = 0;
  t.workload = key.workload, t.target = key.target, t.space = key.space;
  t.in_layout = key.in_layout, t.out_layout = key.out_layout;
  t.session = row.text(c++), t.seq = row.integer(c++), t.candidate = row.integer(c++);
  t.template_name = row.text(c++), t.template_revision = row.integer(c++);
  t.config = row.text(c++), t.module_hash = row.text(c++), t.status = row.text(c++), t.message = row.text(c++);
  t.times = parse_times(row.text(c++)), t.seconds = row.maybe_real(c++);
  t.censored = row.integer(c++) != 0, t.confirmed = row.integer(c++) != 0;
  t.rel_error = row.real(c++), t.max_error = row.real(c++);
  for (double* phase :
       {&t.phases.queue, &t.phases.transfer, &t.phases.build, &t.phases.check, &t.phases.run, &t.phases.reference})
    *phase = row.real(c++);
  t.device = row.text(c++), t.device_model = row.text(c++), t.profile = row.text(c++);
  t.hone_version = row.text(c++), t.codegen_version = row.text(c++);
  t.sentinel_before = row.real(c++), t.sentinel_after = row.real(c++), t.created_at = row.integer(c++);
  if (!row.is_null(c)) t.features = row.bytes(c);
  t.missing = row.text(++c);
  t.disturbed = row.integer(++c) != 0, t.default_seconds = row.maybe_real(++c);
  t.machine = read_machine(row, ++c);
  return t;
}

// The rows of one owner, in parts.
class Visitor {
 public:
  Visitor(SqlConnection& db, int64_t owner, const std::string& tenant,
          const std::function<Status(const RecordSet&, const std::string&)>& visit)
      : db_(db), owner_(owner), tenant_(tenant), visit_(visit) {}

  Status run() {
    HONE_RETURN_IF_ERROR(visit_sessions());
    HONE_RETURN_IF_ERROR(visit_trials());
    HONE_RETURN_IF_ERROR(visit_choices());
    HONE_RETURN_IF_ERROR(visit_definitions());
    return visit_priors();
  }

 private:
  Status pass(const RecordSet& part) { return visit_(part, tenant_); }

  Status visit_sessions() {
    std::string uuid;
    for (int64_t started = INT64_MIN;;) {
      RecordSet part;
      const SqlValues from = {owner_, started, uuid, static_cast<int64_t>(kMostOfAPart)};
      HONE_RETURN_IF_ERROR(db_.run(kAllSessions, from, [&](const SqlRow& row) {
        SessionRow& s = part.sessions.emplace_back();
        s.uuid = row.text(0), s.workload = row.text(1), s.target = row.text(2), s.space = row.text(3);
        s.searcher = row.text(4), s.seed = row.integer(5), s.started = row.integer(6);
        s.ended = row.maybe_integer(7), s.state = row.text(8);
        return absl::OkStatus();
      }));
      if (part.sessions.empty()) return absl::OkStatus();
      HONE_RETURN_IF_ERROR(pass(part));
      started = part.sessions.back().started, uuid = part.sessions.back().uuid;
    }
  }

  // A workload and target at a time, whose trials are sorted together whatever their spaces and layouts.
  Status visit_trials() {
    std::vector<VisitedKey> keys;
    HONE_RETURN_IF_ERROR(db_.run(kAllKeys, {owner_}, [&](const SqlRow& row) {
      keys.push_back({row.integer(0), row.text(1), row.text(2), row.text(3), row.text(4), row.text(5)});
      return absl::OkStatus();
    }));
    RecordSet part;
    for (size_t begin = 0, end = 0; begin < keys.size(); begin = end) {
      std::vector<SqlValues> ids;
      for (; end < keys.size() && keys[end].workload == keys[begin].workload && keys[end].target == keys[begin].target;
           ++end)
        ids.push_back({keys[end].id});
      std::vector<TrialRow> trials;
      HONE_RETURN_IF_ERROR(db_.run_each(kAllTrials, ids, [&](size_t which, const SqlRow& row) {
        return trials.push_back(read_trial(row, keys[begin + which])), absl::OkStatus();
      }));
      std::sort(trials.begin(), trials.end(), [](const TrialRow& a, const TrialRow& b) {
        return std::tie(a.created_at, a.session, a.seq, a.candidate) <
               std::tie(b.created_at, b.session, b.seq, b.candidate);
      });
      for (TrialRow& t : trials) {
        part.trials.push_back(std::move(t));
        if (part.trials.size() < kMostOfAPart) continue;
        HONE_RETURN_IF_ERROR(pass(part));
        part.trials.clear();
      }
    }
    return part.trials.empty() ? absl::OkStatus() : pass(part);
  }

  Status visit_choices() {
    RecordSet part;
    HONE_RETURN_IF_ERROR(db_.run(kAllChoices, {owner_}, [&](const SqlRow& row) {
      ChoiceRow& c = part.choices.emplace_back();
      c.workload = row.text(0), c.target = row.text(1), c.space = row.text(2), c.config = row.text(3);
      c.instead_of = row.text(4), c.seconds = row.real(5), c.instead_seconds = row.real(6),
      c.created_at = row.integer(7);
      return absl::OkStatus();
    }));
    return part.choices.empty() ? absl::OkStatus() : pass(part);
  }

  Status visit_definitions() {
    for (std::string hash, kind;;) {
      RecordSet part;
      HONE_RETURN_IF_ERROR(
          db_.run(kAllDefinitions, {owner_, hash, kind, static_cast<int64_t>(kMostModels)}, [&](const SqlRow& row) {
            return part.definitions.push_back({row.text(0), row.text(1), row.text(2)}), absl::OkStatus();
          }));
      if (part.definitions.empty()) return absl::OkStatus();
      HONE_RETURN_IF_ERROR(pass(part));
      hash = part.definitions.back().hash, kind = part.definitions.back().kind;
    }
  }

  Status visit_priors() {
    for (std::string kind, schema;;) {
      RecordSet part;
      HONE_RETURN_IF_ERROR(
          db_.run(kAllPriors, {owner_, kind, schema, static_cast<int64_t>(kMostModels)}, [&](const SqlRow& row) {
            PriorRow& p = part.priors.emplace_back();
            p.target_kind = row.text(0), p.schema = row.text(1), p.hone_version = row.text(2);
            p.created_at = row.integer(3), p.groups = row.integer(4), p.trials = row.integer(5);
            p.held_out = row.integer(6);
            p.pairwise = row.maybe_real(7), p.peak1 = row.maybe_real(8), p.peak5 = row.maybe_real(9);
            p.model = row.bytes(10);
            return absl::OkStatus();
          }));
      if (part.priors.empty()) return absl::OkStatus();
      HONE_RETURN_IF_ERROR(pass(part));
      kind = part.priors.back().target_kind, schema = part.priors.back().schema;
    }
  }

  SqlConnection& db_;
  const int64_t owner_;
  const std::string tenant_;
  const std::function<Status(const RecordSet&, const std::string&)>& visit_;
};

#define HONE_OF_TENANT "(SELECT id FROM owners WHERE name = ?1)"
#define HONE_TRIALS_OF_TENANT \
  "(SELECT t.id FROM trials t JOIN keys k ON k.id = t.key WHERE k.owner IN " HONE_OF_TENANT ")"
constexpr Sql kRemovals[] = {
    {"DELETE FROM best WHERE key IN (SELECT id FROM keys WHERE owner IN " HONE_OF_TENANT ")", "t"},
    {"DELETE FROM disturbed_trials WHERE trial IN " HONE_TRIALS_OF_TENANT, "t"},
    {"DELETE FROM trials WHERE key IN (SELECT id FROM keys WHERE owner IN " HONE_OF_TENANT ")", "t"},
    {"DELETE FROM keys WHERE owner IN " HONE_OF_TENANT, "t"},
    {"DELETE FROM choices WHERE owner IN " HONE_OF_TENANT, "t"},
    {"DELETE FROM definitions WHERE owner IN " HONE_OF_TENANT, "t"},
    {"DELETE FROM priors WHERE owner IN " HONE_OF_TENANT, "t"},
    {"DELETE FROM sessions WHERE owner IN " HONE_OF_TENANT, "t"},
    {"DELETE FROM owners WHERE name = ?1", "t"},
};
// Nobody's any more.
constexpr Sql kLeftovers[] = {
    {"DELETE FROM workloads WHERE NOT EXISTS (SELECT 1 FROM keys k WHERE k.workload = workloads.id) AND NOT EXISTS "
     "(SELECT 1 FROM choices c WHERE c.workload = workloads.id)",
     ""},
};
constexpr Sql kCountTrials = {
    "SELECT count(*) FROM trials t JOIN keys k ON k.id = t.key WHERE k.owner IN " HONE_OF_TENANT, "t"};

}  // namespace

Status visit_rows(SqlConnection& db, const TeamPeer& peer,
                  const std::function<Status(const RecordSet&, const std::string& owner)>& visit) {
  std::vector<std::pair<int64_t, std::string>> owners;
  HONE_RETURN_IF_ERROR(db.run(kAllOwners, {peer.tenant, int64_t{peer.is_admin}}, [&](const SqlRow& row) {
    return owners.emplace_back(row.integer(0), row.text(1)), absl::OkStatus();
  }));
  for (const auto& [id, name] : owners) HONE_RETURN_IF_ERROR(Visitor(db, id, name, visit).run());
  return absl::OkStatus();
}

Status remove_rows(SqlConnection& db, const std::string& tenant, int64_t* trials) {
  HONE_ASSIGN_OR_RETURN(const auto count, db.find_integer(kCountTrials, {tenant}));
  *trials = count.value_or(0);
  for (const Sql& sql : kRemovals) HONE_RETURN_IF_ERROR(db.run(sql, {tenant}));
  for (const Sql& sql : kLeftovers) HONE_RETURN_IF_ERROR(db.run(sql));
  return absl::OkStatus();
}

}  // namespace hone::db
