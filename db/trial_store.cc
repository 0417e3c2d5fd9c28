#include "db/trial_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/exit_code.h"
#include "base/json.h"
#include "base/key.h"
#include "db/best_store.h"
#include "db/plausible.h"

namespace hone::db {
namespace {

// SQLite has no NaN (it would become NULL) and JSON no infinity; an error that large is simply too large.
double finite(double x) { return std::isfinite(x) ? x : std::numeric_limits<double>::max(); }

// The id of the row of a lookup table that holds exactly `values`, inserted when it is new.
template <class... T>
StatusOr<int64_t> intern(Database& db, const char* find, const char* insert, const T&... values) {
  {
    HONE_ASSIGN_OR_RETURN(Statement q, db.cached(find));
    HONE_RETURN_IF_ERROR(q.bind(values...));
    HONE_ASSIGN_OR_RETURN(const bool found, q.step());
    if (found) return q.integer(0);
  }
  HONE_ASSIGN_OR_RETURN(Statement q, db.cached(insert));
  HONE_RETURN_IF_ERROR(q.bind(values...));
  HONE_RETURN_IF_ERROR(q.run());
  return db.last_insert_id();
}

StatusOr<int64_t> key_id(Database& db, const TrialRow& t) {
  return intern(
      db,
      "SELECT id FROM keys WHERE workload = ?1 AND target = ?2 AND space = ?3 AND in_layout = ?4 AND out_layout = ?5",
      "INSERT INTO keys (workload, target, space, in_layout, out_layout) VALUES (?1, ?2, ?3, ?4, ?5)", t.workload,
      t.target, t.space, t.in_layout, t.out_layout);
}

StatusOr<int64_t> origin_id(Database& db, const TrialRow& t) {
  return intern(
      db,
      "SELECT id FROM origins WHERE template = ?1 AND revision = ?2 AND device = ?3 AND device_model = ?4 AND "
      "profile = ?5 AND hone_version = ?6 AND codegen_version = ?7",
      "INSERT INTO origins (template, revision, device, device_model, profile, hone_version, codegen_version) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
      t.template_name, t.template_revision, t.device, t.device_model, t.profile, t.hone_version, t.codegen_version);
}

// A trial (or batch) may come before its session's row (an import, a crash between the two): the foreign key holds
// either way.
template <class Row>
StatusOr<int64_t> session_id(Database& db, const Row& t, int64_t when) {
  {
    HONE_ASSIGN_OR_RETURN(Statement q, db.cached("SELECT id FROM sessions WHERE uuid = ?1"));
    HONE_RETURN_IF_ERROR(q.bind(t.session));
    HONE_ASSIGN_OR_RETURN(const bool found, q.step());
    if (found) return q.integer(0);
  }
  HONE_ASSIGN_OR_RETURN(
      Statement q,
      db.cached("INSERT INTO sessions (uuid, workload, target, space, searcher, seed, started, ended, state) "
                "VALUES (?1, ?2, ?3, ?4, '', 0, ?5, NULL, 'implied')"));
  HONE_RETURN_IF_ERROR(q.bind(t.session, t.workload, t.target, t.space, when));
  HONE_RETURN_IF_ERROR(q.run());
  return db.last_insert_id();
}

#define HONE_MACHINE_COLUMNS \
  "h.trial, h.governor, h.temperature_before, h.temperature_after, h.clock_before, h.clock_after, h.throttled"
#define HONE_TRIAL_COLUMNS                                                                                         \
  "s.uuid, t.seq, t.candidate, k.workload, k.target, k.space, o.template, o.revision, t.config, k.in_layout, "     \
  "k.out_layout, t.module_hash, t.status, t.message, t.times, t.seconds, t.censored, t.confirmed, t.rel_error, "   \
  "t.max_error, t.queue_s, t.transfer_s, t.build_s, t.check_s, t.run_s, t.reference_s, o.device, o.device_model, " \
  "o.profile, o.hone_version, o.codegen_version, t.sentinel_before, t.sentinel_after, t.created_at, t.features, "  \
  "coalesce(m.what, ''), d.trial, d.default_s, " HONE_MACHINE_COLUMNS
#define HONE_TRIAL_TABLES                                                                                       \
  "trials t JOIN keys k ON k.id = t.key JOIN sessions s ON s.id = t.session JOIN origins o ON o.id = t.origin " \
  "LEFT JOIN missing_protections m ON m.trial = t.id LEFT JOIN disturbed_trials d ON d.trial = t.id "           \
  "LEFT JOIN machine_states h ON h.trial = t.id"

StatusOr<TrialRow> read_trial(const Statement& q, const std::string& path) {
  TrialRow t;
  int c = 0;
  t.session = q.text(c++), t.seq = q.integer(c++), t.candidate = q.integer(c++);
  t.workload = q.text(c++), t.target = q.text(c++), t.space = q.text(c++);
  t.template_name = q.text(c++), t.template_revision = q.integer(c++);
  t.config = q.text(c++), t.in_layout = q.text(c++), t.out_layout = q.text(c++), t.module_hash = q.text(c++);
  t.status = q.text(c++), t.message = q.text(c++);
  const Json times = Json::parse(q.text(c++), nullptr, /*allow_exceptions=*/false);
  if (!times.is_array())
    return database_error(
        fmt::format("{}: the times of trial {}/{} are not a JSON array; `tophub check` lists what is damaged", path,
                    t.session, t.seq));
  for (const Json& x : times) t.times.push_back(x.is_number() ? x.get<double>() : 0);
  t.seconds = q.maybe_real(c++), t.censored = q.integer(c++) != 0, t.confirmed = q.integer(c++) != 0;
  t.rel_error = q.real(c++), t.max_error = q.real(c++);
  for (double* phase :
       {&t.phases.queue, &t.phases.transfer, &t.phases.build, &t.phases.check, &t.phases.run, &t.phases.reference})
    *phase = q.real(c++);
  t.device = q.text(c++), t.device_model = q.text(c++), t.profile = q.text(c++);
  t.hone_version = q.text(c++), t.codegen_version = q.text(c++);
  t.sentinel_before = q.real(c++), t.sentinel_after = q.real(c++), t.created_at = q.integer(c++);
  if (!q.is_null(c)) t.features = q.text(c);
  t.missing = q.text(++c);
  t.disturbed = !q.is_null(++c), t.default_seconds = q.maybe_real(++c);
  t.machine = read_machine(q, ++c);
  return t;
}

// WHERE for a TrialFilter bound as ?1 .. ?4; an empty field does not restrict.
#define HONE_TRIAL_FILTER                                                                                             \
  " WHERE (?1 = '' OR k.workload = ?1) AND (?2 = '' OR k.target = ?2) AND (?3 = '' OR k.space = ?3) AND (?4 = '' OR " \
  "s.uuid = ?4)"
// The same restriction for the usual case (workload given), which can then use the keys' index.
#define HONE_TRIAL_FILTER_WORKLOAD \
  " WHERE k.workload = ?1 AND (?2 = '' OR k.target = ?2) AND (?3 = '' OR k.space = ?3) AND (?4 = '' OR s.uuid = ?4)"

Status visit_all(Database& db, const char* sql, const std::function<Status(const TrialRow&)>& visit) {
  HONE_ASSIGN_OR_RETURN(Statement q, db.prepare(sql));
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const bool row, q.step());
    if (!row) return absl::OkStatus();
    HONE_ASSIGN_OR_RETURN(const TrialRow trial, read_trial(q, db.path()));
    HONE_RETURN_IF_ERROR(visit(trial));
  }
}

SessionRow read_session(const Statement& q) {
  SessionRow s;
  s.uuid = q.text(0), s.workload = q.text(1), s.target = q.text(2), s.space = q.text(3), s.searcher = q.text(4);
  s.seed = q.integer(5), s.started = q.integer(6), s.ended = q.maybe_integer(7), s.state = q.text(8);
  return s;
}

constexpr const char* kInsertTrial =
    "INSERT INTO trials (session, seq, candidate, key, origin, config, module_hash, status, message, times, seconds, "
    "censored, "
    "confirmed, rel_error, max_error, queue_s, transfer_s, build_s, check_s, run_s, reference_s, sentinel_before, "
    "sentinel_after, created_at, features) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, "
    "?16, ?17, "
    "?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25) ON CONFLICT (session, seq, candidate) DO NOTHING";

}  // namespace

std::optional<MachineState> read_machine(const Statement& row, int c) {
  if (row.is_null(c)) return std::nullopt;
  MachineState m;
  m.governor = row.text(c + 1);
  m.temperature_before_c = row.maybe_real(c + 2), m.temperature_after_c = row.maybe_real(c + 3);
  m.clock_before_mhz = row.maybe_real(c + 4), m.clock_after_mhz = row.maybe_real(c + 5);
  m.throttled = row.text(c + 6);
  return m;
}

StatusOr<AddResult> TrialStore::add(std::span<const TrialRow> trials, int64_t now_ms) {
  HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db_));
  HONE_ASSIGN_OR_RETURN(const AddResult result, add_in_transaction(trials, now_ms));
  HONE_RETURN_IF_ERROR(transaction.commit());
  return result;
}

// A confirmation counts by its date: one of the future would outrank all that come until then.
StatusOr<bool> TrialStore::settle_dates(int64_t key, int64_t before, int64_t now_ms) {
  HONE_ASSIGN_OR_RETURN(Statement q,
                        db_.cached("UPDATE trials SET created_at = ?2 WHERE key = ?1 AND created_at > ?3"));
  HONE_RETURN_IF_ERROR(q.bind(key, std::max<int64_t>(before, 1), latest_date(now_ms)));
  HONE_RETURN_IF_ERROR(q.run());
  return db_.changes() > 0;
}

StatusOr<AddResult> TrialStore::add_in_transaction(std::span<const TrialRow> trials, int64_t now_ms) {
  if (now_ms == 0) now_ms = unix_ms();
  AddResult result;
  std::set<int64_t> keys;     // each is settled once
  std::set<int64_t> touched;  // keys whose best may have changed; each is offered once
  int64_t earliest = now_ms;
  for (const TrialRow& t : trials) earliest = std::min(earliest, t.created_at);
  HONE_ASSIGN_OR_RETURN(Statement q, db_.cached(kInsertTrial));
  for (const TrialRow& t : trials) {
    HONE_RETURN_IF_ERROR(validate(t));
    HONE_ASSIGN_OR_RETURN(const int64_t session, session_id(db_, t, t.created_at));
    HONE_ASSIGN_OR_RETURN(const int64_t key, key_id(db_, t));
    if (keys.insert(key).second) {
      HONE_ASSIGN_OR_RETURN(const bool settled, settle_dates(key, earliest - 1, now_ms));
      if (settled) touched.insert(key);
    }
    HONE_ASSIGN_OR_RETURN(const int64_t origin, origin_id(db_, t));
    std::optional<Blob> features;
    if (t.features) features = Blob{*t.features};
    const PhaseSeconds& p = t.phases;
    HONE_RETURN_IF_ERROR(q.bind(session, t.seq, t.candidate, key, origin, t.config, t.module_hash, t.status, t.message,
                                Json(t.times).dump(), t.seconds, t.censored, t.confirmed, finite(t.rel_error),
                                finite(t.max_error), finite(p.queue), finite(p.transfer), finite(p.build),
                                finite(p.check), finite(p.run), finite(p.reference), finite(t.sentinel_before),
                                finite(t.sentinel_after), t.created_at, features));
    HONE_RETURN_IF_ERROR(q.run());
    const bool fresh = db_.changes() > 0;
    ++(fresh ? result.inserted : result.duplicates);
    const int64_t id = db_.last_insert_id();
    if (fresh && !t.missing.empty()) {
      HONE_ASSIGN_OR_RETURN(Statement m, db_.cached("INSERT INTO missing_protections (trial, what) VALUES (?1, ?2)"));
      HONE_RETURN_IF_ERROR(m.bind(id, t.missing));
      HONE_RETURN_IF_ERROR(m.run());
    }
    if (fresh && t.disturbed) {
      HONE_ASSIGN_OR_RETURN(Statement d, db_.cached("INSERT INTO disturbed_trials (trial, default_s) VALUES (?1, ?2)"));
      HONE_RETURN_IF_ERROR(d.bind(id, t.default_seconds));
      HONE_RETURN_IF_ERROR(d.run());
    }
    if (fresh && t.machine) {
      HONE_ASSIGN_OR_RETURN(Statement h, db_.cached("INSERT INTO machine_states (trial, governor, temperature_before, "
                                                    "temperature_after, clock_before, clock_after, throttled) VALUES "
                                                    "(?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
      const MachineState& m = *t.machine;
      HONE_RETURN_IF_ERROR(h.bind(id, m.governor, m.temperature_before_c, m.temperature_after_c, m.clock_before_mhz,
                                  m.clock_after_mhz, m.throttled));
      HONE_RETURN_IF_ERROR(h.run());
    }
    if (fresh && t.seconds && !t.censored) touched.insert(key);
  }
  BestStore best(db_);
  for (const int64_t key : touched) {
    HONE_ASSIGN_OR_RETURN(const bool changed, best.offer(key));
    result.best_changed += changed;
  }
  return result;
}

StatusOr<std::vector<TrialRow>> TrialStore::list(const TrialFilter& filter) const {
  const char* sql = filter.workload.empty()
                        ? "SELECT " HONE_TRIAL_COLUMNS " FROM " HONE_TRIAL_TABLES HONE_TRIAL_FILTER " ORDER BY t.id"
                        : "SELECT " HONE_TRIAL_COLUMNS " FROM " HONE_TRIAL_TABLES HONE_TRIAL_FILTER_WORKLOAD
                          " ORDER BY t.id";
  HONE_ASSIGN_OR_RETURN(Statement q, db_.prepare(sql));
  HONE_RETURN_IF_ERROR(q.bind(filter.workload, filter.target, filter.space, filter.session));
  std::vector<TrialRow> trials;
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const bool row, q.step());
    if (!row) return trials;
    HONE_ASSIGN_OR_RETURN(TrialRow trial, read_trial(q, db_.path()));
    trials.push_back(std::move(trial));
  }
}

StatusOr<std::vector<TrialRow>> TrialStore::unsent(const std::string& hub, size_t most, size_t skip) const {
  HONE_ASSIGN_OR_RETURN(
      Statement q, db_.cached("SELECT " HONE_TRIAL_COLUMNS " FROM " HONE_TRIAL_TABLES
                              " WHERE t.id IN (SELECT trial FROM unsent_trials WHERE hub = ?1 ORDER BY trial LIMIT "
                              "?2 OFFSET ?3) ORDER BY t.id"));
  HONE_RETURN_IF_ERROR(q.bind(hub, most, skip));
  std::vector<TrialRow> trials;
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const bool row, q.step());
    if (!row) return trials;
    HONE_ASSIGN_OR_RETURN(TrialRow trial, read_trial(q, db_.path()));
    trials.push_back(std::move(trial));
  }
}

StatusOr<int64_t> TrialStore::count(const TrialFilter& filter) const {
  const char* sql = filter.workload.empty() ? "SELECT count(*) FROM " HONE_TRIAL_TABLES HONE_TRIAL_FILTER
                                            : "SELECT count(*) FROM " HONE_TRIAL_TABLES HONE_TRIAL_FILTER_WORKLOAD;
  HONE_ASSIGN_OR_RETURN(Statement q, db_.prepare(sql));
  HONE_RETURN_IF_ERROR(q.bind(filter.workload, filter.target, filter.space, filter.session));
  HONE_ASSIGN_OR_RETURN(const bool row, q.step());
  return row ? q.integer(0) : 0;
}

StatusOr<int64_t> TrialStore::count_groups(const std::string& target_kind, int64_t least) const {
  HONE_ASSIGN_OR_RETURN(
      Statement q,
      db_.prepare("SELECT k.target FROM trials t JOIN keys k ON k.id = t.key JOIN origins o ON o.id = t.origin "
                  "GROUP BY k.workload, k.target, o.device_model HAVING count(*) >= ?1"));
  HONE_RETURN_IF_ERROR(q.bind(least));
  for (int64_t n = 0;;) {
    HONE_ASSIGN_OR_RETURN(const bool row, q.step());
    if (!row) return n;
    n += hone::target_kind(q.text(0)) == target_kind;
  }
}

Status TrialStore::for_each_sorted(const std::function<Status(const TrialRow&)>& visit) const {
  return visit_all(db_,
                   "SELECT " HONE_TRIAL_COLUMNS " FROM " HONE_TRIAL_TABLES
                   " ORDER BY k.workload, k.target, t.created_at, s.uuid, t.seq, t.candidate",
                   visit);
}

Status TrialStore::for_each_best_sorted(const std::function<Status(const TrialRow&)>& visit) const {
  return visit_all(db_,
                   "SELECT " HONE_TRIAL_COLUMNS " FROM best b JOIN " HONE_TRIAL_TABLES
                   " WHERE t.id = b.trial ORDER BY k.workload, k.target, t.created_at, s.uuid, t.seq, t.candidate",
                   visit);
}

StatusOr<int64_t> TrialStore::next_seq(const std::string& session) const {
  HONE_ASSIGN_OR_RETURN(Statement q, db_.cached("SELECT coalesce(max(t.seq) + 1, 0) FROM trials t WHERE t.session = "
                                                "(SELECT id FROM sessions WHERE uuid = ?1)"));
  HONE_RETURN_IF_ERROR(q.bind(session));
  HONE_ASSIGN_OR_RETURN(const bool row, q.step());
  return row ? q.integer(0) : 0;
}

Status TrialStore::add_batch(const BatchRow& b) {
  HONE_RETURN_IF_ERROR(validate(b));
  HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db_));
  HONE_ASSIGN_OR_RETURN(const int64_t session, session_id(db_, b, b.finished));
  {
    HONE_ASSIGN_OR_RETURN(
        Statement q, db_.cached("INSERT INTO batches (session, number, workload, target, space, trials, known, "
                                "pairwise, peak1, peak5, idle_s, drifted, finished) VALUES (?1, ?2, ?3, ?4, ?5, ?6, "
                                "?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT (session, number) DO NOTHING"));
    HONE_RETURN_IF_ERROR(q.bind(session, b.number, b.workload, b.target, b.space, b.trials, b.known, b.pairwise,
                                b.peak1, b.peak5, b.idle, b.drifted, b.finished));
    HONE_RETURN_IF_ERROR(q.run());
  }
  return transaction.commit();
}

StatusOr<std::vector<BatchRow>> TrialStore::batches(const TrialFilter& filter) const {
#define HONE_BATCHES                                                                                          \
  "SELECT s.uuid, b.number, b.workload, b.target, b.space, b.trials, b.known, b.pairwise, b.peak1, b.peak5, " \
  "b.idle_s, "                                                                                                \
  "b.drifted, b.finished FROM batches b JOIN sessions s ON s.id = b.session "
#define HONE_BATCH_FILTER \
  "(?2 = '' OR b.target = ?2) AND (?3 = '' OR b.space = ?3) AND (?4 = '' OR s.uuid = ?4) ORDER BY b.id"
  // As with trials: where the workload is given, the index on it serves.
  const char* sql = filter.workload.empty() ? HONE_BATCHES "WHERE ?1 = '' AND " HONE_BATCH_FILTER
                                            : HONE_BATCHES "WHERE b.workload = ?1 AND " HONE_BATCH_FILTER;
  HONE_ASSIGN_OR_RETURN(Statement q, db_.cached(sql));
  HONE_RETURN_IF_ERROR(q.bind(filter.workload, filter.target, filter.space, filter.session));
  std::vector<BatchRow> batches;
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const bool row, q.step());
    if (!row) return batches;
    BatchRow b;
    b.session = q.text(0), b.number = q.integer(1), b.workload = q.text(2), b.target = q.text(3), b.space = q.text(4);
    b.trials = q.integer(5), b.known = q.integer(6);
    b.pairwise = q.maybe_real(7), b.peak1 = q.maybe_real(8), b.peak5 = q.maybe_real(9);
    b.idle = q.real(10), b.drifted = q.integer(11), b.finished = q.integer(12);
    batches.push_back(std::move(b));
  }
}

Status TrialStore::put_session(const SessionRow& session) {
  HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db_));
  HONE_RETURN_IF_ERROR(put_session_in_transaction(session));
  return transaction.commit();
}

Status TrialStore::put_session_in_transaction(const SessionRow& s) {
  if (s.uuid.empty()) return absl::InvalidArgumentError("session: uuid is empty");
  HONE_ASSIGN_OR_RETURN(
      Statement q,
      db_.cached(
          "INSERT INTO sessions (uuid, workload, target, space, searcher, seed, started, ended, state) "
          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (uuid) DO UPDATE SET workload = excluded.workload, "
          "target = excluded.target, space = excluded.space, searcher = excluded.searcher, seed = excluded.seed, "
          "started = excluded.started, ended = excluded.ended, state = excluded.state "
          "WHERE sessions.state = 'implied' OR (sessions.ended IS NULL AND excluded.ended IS NOT NULL)"));
  HONE_RETURN_IF_ERROR(q.bind(s.uuid, s.workload, s.target, s.space, s.searcher, s.seed, s.started, s.ended, s.state));
  return q.run();
}

Status TrialStore::finish_session(const std::string& uuid, int64_t ended, const std::string& state) {
  HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db_));
  {
    HONE_ASSIGN_OR_RETURN(Statement q, db_.cached("UPDATE sessions SET ended = ?2, state = ?3 WHERE uuid = ?1"));
    HONE_RETURN_IF_ERROR(q.bind(uuid, ended, state));
    HONE_RETURN_IF_ERROR(q.run());
  }
  if (db_.changes() == 0) return absl::NotFoundError(fmt::format("{}: no session {}", db_.path(), uuid));
  return transaction.commit();
}

StatusOr<std::optional<SessionRow>> TrialStore::session(const std::string& uuid) const {
  HONE_ASSIGN_OR_RETURN(Statement q,
                        db_.cached("SELECT uuid, workload, target, space, searcher, seed, started, ended, state "
                                   "FROM sessions WHERE uuid = ?1"));
  HONE_RETURN_IF_ERROR(q.bind(uuid));
  HONE_ASSIGN_OR_RETURN(const bool row, q.step());
  return row ? std::optional(read_session(q)) : std::nullopt;
}

StatusOr<std::vector<SessionRow>> TrialStore::sessions() const {
  HONE_ASSIGN_OR_RETURN(Statement q,
                        db_.prepare("SELECT uuid, workload, target, space, searcher, seed, started, ended, state "
                                    "FROM sessions ORDER BY started, uuid"));
  std::vector<SessionRow> sessions;
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const bool row, q.step());
    if (!row) return sessions;
    sessions.push_back(read_session(q));
  }
}

}  // namespace hone::db
