// Adding rows that a peer brings: its session, keys and origins by their hashes, then trials, bests and all else.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/json.h"
#include "base/key.h"
#include "base/text.h"
#include "db/best_rule.h"
#include "db/plausible.h"
#include "db/team/miss_counter.h"
#include "db/team/shape.h"
#include "db/team/sql_store.h"

namespace hone::db {
namespace {

constexpr size_t kMostNameBytes = 200;  // of a session, a kind, a schema: an index of PostgreSQL holds 2,700 bytes
// Spaces, layouts and targets that one owner measured a workload with: more would make answers slow.
constexpr int64_t kMostKeysOfAWorkload = 4096;

#define HONE_ANY_TRIAL(K) ""
constexpr Sql kOffer = {HONE_OFFER_BEST(HONE_ANY_TRIAL) " RETURNING key", "i"};

constexpr Sql kFindOwner = {"SELECT id FROM owners WHERE name = ?1 AND hidden = ?2", "ti"};
constexpr Sql kAddOwner = {"INSERT INTO owners (name, hidden) VALUES (?1, ?2) RETURNING id", "ti"};
constexpr Sql kFindSession = {"SELECT s.id, o.name FROM sessions s JOIN owners o ON o.id = s.owner WHERE s.uuid = ?1",
                              "t"};
constexpr Sql kAddSession = {
    "INSERT INTO sessions (uuid, workload, target, space, searcher, seed, started, ended, state, owner) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) RETURNING id",
    "tttttiiiti"};
// As TrialStore::put_session(): replaced only by a row that knows more.
constexpr Sql kUpdateSession = {
    "UPDATE sessions SET workload = ?2, target = ?3, space = ?4, searcher = ?5, seed = ?6, started = ?7, ended = ?8, "
    "state = ?9 WHERE uuid = ?1 AND ((state = 'implied' AND ?9 <> 'implied') OR (ended IS NULL AND ?8 IS NOT NULL)) "
    "RETURNING id",
    "tttttiiit"};
constexpr Sql kFindWorkload = {"SELECT id FROM workloads WHERE hash = ?1", "t"};
constexpr Sql kAddWorkload = {"INSERT INTO workloads (hash, text, shape, size) VALUES (?1, ?2, ?3, ?4) RETURNING id",
                              "tttd"};
constexpr Sql kFindTarget = {"SELECT id FROM targets WHERE hash = ?1", "t"};
constexpr Sql kAddTarget = {"INSERT INTO targets (hash, text, kind) VALUES (?1, ?2, ?3) RETURNING id", "ttt"};
constexpr Sql kFindOrigin = {"SELECT id FROM origins WHERE hash = ?1", "t"};
constexpr Sql kAddOrigin = {
    "INSERT INTO origins (hash, template, revision, device, device_model, profile, hone_version, codegen_version) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING id",
    "ttittttt"};
constexpr Sql kFindKey = {"SELECT id, latest FROM keys WHERE hash = ?1", "t"};
constexpr Sql kCountKeys = {"SELECT count(*) FROM keys WHERE workload = ?1 AND owner = ?2", "ii"};
constexpr Sql kAddKey = {
    "INSERT INTO keys (hash, owner, workload, target, space, in_layout, out_layout, kind, hidden, measured, usable, "
    "latest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, 0, 0) RETURNING id",
    "tiiitttti"};
constexpr Sql kSettle = {"UPDATE trials SET created_at = ?2 WHERE key = ?1 AND created_at > ?3", "iii"};
constexpr Sql kAddTrial = {
    "INSERT INTO trials (session, seq, candidate, key, origin, config, module_hash, status, message, times, seconds, "
    "censored, confirmed, rel_error, max_error, queue_s, transfer_s, build_s, check_s, run_s, reference_s, "
    "sentinel_before, sentinel_after, created_at, missing, machine, features) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
    "?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27) "
    "ON CONFLICT (session, seq, candidate) DO NOTHING RETURNING id",
    "iiiiitttttdiiddddddddddittb"};
constexpr Sql kAddDisturbed = {"INSERT INTO disturbed_trials (trial, default_s) VALUES (?1, ?2)", "id"};
constexpr Sql kUpdateKey = {"UPDATE keys SET measured = measured + ?2, usable = usable + ?3, latest = ?4 WHERE id = ?1",
                            "iiii"};
constexpr Sql kDropKey = {"DELETE FROM keys WHERE id = ?1", "i"};
constexpr Sql kEndMiss = {"DELETE FROM misses WHERE hash = ?1", "t"};
constexpr Sql kPutChoice = {
    "INSERT INTO choices (hash, owner, workload, target, space, config, instead_of, seconds, instead_seconds, "
    "created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (hash) DO UPDATE SET "
    "config = excluded.config, seconds = excluded.seconds, instead_seconds = excluded.instead_seconds, "
    "created_at = excluded.created_at WHERE " HONE_REPLACES("choices", "config", "?12", "?11") " RETURNING id",
    "tiiitttddiii"};
constexpr Sql kPutDefinition = {
    "INSERT INTO definitions (owner, hash, kind, text) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (hash, kind, owner) DO "
    "NOTHING RETURNING owner",
    "ittt"};
constexpr Sql kPutPrior = {
    "INSERT INTO priors (owner, target_kind, schema, hone_version, created_at, group_count, trial_count, held_out, "
    "pairwise, peak1, peak5, model) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) "
    "ON CONFLICT (target_kind, schema, owner) DO UPDATE SET hone_version = excluded.hone_version, "
    "created_at = excluded.created_at, group_count = excluded.group_count, trial_count = excluded.trial_count, "
    "held_out = excluded.held_out, pairwise = excluded.pairwise, peak1 = excluded.peak1, peak5 = excluded.peak5, "
    "model = excluded.model WHERE " HONE_REPLACES("priors", "model", "?14", "?13") " RETURNING owner",
    "itttiiiidddbii"};

const auto kDropRows = [](size_t, const SqlRow&) { return absl::OkStatus(); };

// As in a user's tophub: an error that large is simply too large.
double finite(double x) { return std::isfinite(x) ? x : std::numeric_limits<double>::max(); }

// The hash of several texts: no two lists of texts have the same joined text.
std::string hash_of(std::initializer_list<std::string_view> texts) {
  std::string joined;
  for (const std::string_view text : texts) joined += fmt::format("{}:{}", text.size(), text);
  return key_hash(joined);
}

Status check_name(const char* what, const std::string& text) {
  if (text.size() <= kMostNameBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{} has {} bytes; a team's tophub takes at most {}", what, text.size(), kMostNameBytes));
}

Status check_utf8(std::initializer_list<const std::string*> texts) {
  for (const std::string* text : texts)
    if (valid_utf8(*text) != *text) return absl::InvalidArgumentError("a text is not UTF-8");
  return absl::OkStatus();
}

Status check_names(const TrialRow& t) {
  HONE_RETURN_IF_ERROR(check_name("session", t.session));
  HONE_RETURN_IF_ERROR(check_name("target kind", std::string(target_kind(t.target))));
  if (t.machine) HONE_RETURN_IF_ERROR(check_utf8({&t.machine->governor, &t.machine->throttled}));
  return check_utf8({&t.session, &t.workload, &t.target, &t.space, &t.template_name, &t.config, &t.in_layout,
                     &t.out_layout, &t.module_hash, &t.status, &t.message, &t.device, &t.device_model, &t.missing,
                     &t.profile, &t.hone_version, &t.codegen_version});
}
Status check_names(const SessionRow& s) {
  HONE_RETURN_IF_ERROR(check_name("session", s.uuid));
  return check_utf8({&s.uuid, &s.workload, &s.target, &s.space, &s.searcher, &s.state});
}
Status check_names(const ChoiceRow& c) {
  return check_utf8({&c.workload, &c.target, &c.space, &c.config, &c.instead_of});
}
Status check_names(const DefinitionRow&) { return absl::OkStatus(); }
Status check_names(const PriorRow& p) {
  HONE_RETURN_IF_ERROR(check_name("target kind", p.target_kind));
  HONE_RETURN_IF_ERROR(check_name("schema", p.schema));
  return check_utf8({&p.target_kind, &p.schema, &p.hone_version});
}

std::string name_of(const TrialRow& t) { return fmt::format("trial {}/{}/{}", t.session, t.seq, t.candidate); }
std::string name_of(const SessionRow& s) { return "session " + s.uuid; }
std::string name_of(const ChoiceRow& c) { return "choice for " + c.workload; }
std::string name_of(const DefinitionRow& d) { return "definition " + d.hash; }
std::string name_of(const PriorRow& p) { return "prior for " + p.target_kind; }

template <class Row>
Status check_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    Status status = check_foreign(row);
    if (status.ok()) status = check_names(row);
    if (status.ok()) continue;
    const std::string name = short_line(name_of(row), 200), why = message_of(status);
    return absl::InvalidArgumentError(why.starts_with(name) ? why : fmt::format("{}: {}", name, why));
  }
  return absl::OkStatus();
}

// Ids of rows by their hashes, each made where it is missing. `add`: the values of a new row.
using Ids = std::map<std::string, int64_t>;
Status intern(SqlConnection& db, const Sql& find, const Sql& add, const std::map<std::string, SqlValues>& rows,
              Ids* ids) {
  std::vector<SqlValues> hashes, fresh;
  std::vector<std::string> names, fresh_names;
  for (const auto& [hash, values] : rows) hashes.push_back({hash}), names.push_back(hash);
  HONE_RETURN_IF_ERROR(db.run_each(find, hashes, [&](size_t which, const SqlRow& row) {
    return (*ids)[names[which]] = row.integer(0), absl::OkStatus();
  }));
  for (const auto& [hash, values] : rows)
    if (!ids->contains(hash)) fresh.push_back(values), fresh_names.push_back(hash);
  return db.run_each(add, fresh, [&](size_t which, const SqlRow& row) {
    return (*ids)[fresh_names[which]] = row.integer(0), absl::OkStatus();
  });
}

// One push, inside its transaction.
class Push {
 public:
  Push(SqlConnection& db, const RecordSet& records, const TeamPeer& peer, int64_t now_ms, ExchangeCount* count)
      : db_(db), records_(records), peer_(peer), now_ms_(now_ms == 0 ? unix_ms() : now_ms), count_(*count) {}

  Status run() {
    HONE_RETURN_IF_ERROR(find_owner());
    HONE_RETURN_IF_ERROR(put_sessions());
    HONE_RETURN_IF_ERROR(find_keys());
    HONE_RETURN_IF_ERROR(add_trials());
    HONE_RETURN_IF_ERROR(put_choices());
    HONE_RETURN_IF_ERROR(put_definitions());
    return put_priors();
  }

 private:
  struct Key {
    int64_t id = 0, latest = 0;
    int64_t measured = 0, usable = 0;  // that this push adds
    bool touched = false;              // its best may have changed
    bool unused = false;               // new, and without a trial so far
    const TrialRow* first = nullptr;
  };

  Status find_owner() {
    const SqlValues values = {peer_.tenant, int64_t{peer_.hides_rows}};
    HONE_ASSIGN_OR_RETURN(std::optional<int64_t> id, db_.find_integer(kFindOwner, values));
    if (!id) {
      HONE_ASSIGN_OR_RETURN(id, db_.find_integer(kAddOwner, values));
    }
    owner_ = id.value_or(0);
    return absl::OkStatus();
  }

  // Rows of sessions that come without their row, with one that trials imply.
  std::map<std::string, SessionRow> sessions() const {
    std::map<std::string, SessionRow> rows;
    for (const SessionRow& s : records_.sessions) {
      SessionRow& row = rows.try_emplace(s.uuid, s).first->second;
      if (!row.ended && s.ended) row = s;
    }
    for (const TrialRow& t : records_.trials)
      rows.try_emplace(t.session, SessionRow{t.session, t.workload, t.target, t.space, "", 0, t.created_at,
                                             std::nullopt, "implied"});
    return rows;
  }

  Status put_sessions() {
    std::vector<SqlValues> names, fresh, known;
    std::vector<std::string> fresh_names;
    const std::map<std::string, SessionRow> rows = sessions();
    std::vector<const SessionRow*> all;
    for (const auto& [uuid, row] : rows) names.push_back({uuid}), all.push_back(&row);
    bool others = false;
    std::string whose;
    HONE_RETURN_IF_ERROR(db_.run_each(kFindSession, names, [&](size_t which, const SqlRow& row) {
      session_ids_[all[which]->uuid] = row.integer(0);
      if (row.text(1) != peer_.tenant && !others) others = true, whose = all[which]->uuid;
      return absl::OkStatus();
    }));
    // Whose it is stays untold.
    if (others)
      return absl::PermissionDeniedError(fmt::format("session {} is another tenant's", short_line(whose, 200)));
    for (const SessionRow* s : all) {
      SqlValues values = {s->uuid,
                          s->workload,
                          s->target,
                          s->space,
                          s->searcher,
                          s->seed,
                          settled_date(s->started, now_ms_),
                          sql_value(s->ended ? std::optional(settled_date(*s->ended, now_ms_)) : std::nullopt),
                          s->state};
      if (session_ids_.contains(s->uuid)) {
        known.push_back(std::move(values));
        continue;
      }
      values.emplace_back(owner_);
      fresh.push_back(std::move(values)), fresh_names.push_back(s->uuid);
      count_.sessions += s->state != "implied";
    }
    HONE_RETURN_IF_ERROR(db_.run_each(kAddSession, fresh, [&](size_t which, const SqlRow& row) {
      return session_ids_[fresh_names[which]] = row.integer(0), absl::OkStatus();
    }));
    HONE_ASSIGN_OR_RETURN(const int64_t updated, db_.count_rows(kUpdateSession, known));
    count_.sessions += updated;
    return absl::OkStatus();
  }

  std::string key_of(const TrialRow& t) const {
    return hash_of({std::to_string(owner_), t.workload, t.target, t.space, t.in_layout, t.out_layout});
  }
  static std::string origin_of(const TrialRow& t) {
    return hash_of({t.template_name, std::to_string(t.template_revision), t.device, t.device_model, t.profile,
                    t.hone_version, t.codegen_version});
  }

  // Workloads and targets of trials and choices, origins, then keys.
  Status find_keys() {
    std::map<std::string, SqlValues> workloads, targets, origins;
    const auto note = [&](const std::string& workload, const std::string& target) -> Status {
      std::string& hash = hashes_[workload];
      if (hash.empty()) {
        hash = key_hash(workload);
        HONE_ASSIGN_OR_RETURN(const WorkloadShape shape, shape_of(workload));
        workloads[hash] = {hash, workload, shape.group, shape.size};
      }
      std::string& target_hash = hashes_[target];
      if (target_hash.empty()) {
        target_hash = key_hash(target);
        targets[target_hash] = {target_hash, target, std::string(target_kind(target))};
      }
      return absl::OkStatus();
    };
    for (const TrialRow& t : records_.trials) {
      HONE_RETURN_IF_ERROR(note(t.workload, t.target));
      const std::string& origin = origin_hashes_.emplace_back(origin_of(t));
      if (!origins.contains(origin))
        origins[origin] = {origin,         t.template_name, t.template_revision, t.device,
                           t.device_model, t.profile,       t.hone_version,      t.codegen_version};
      Key& key = keys_[key_hashes_.emplace_back(key_of(t))];
      if (!key.first) key.first = &t;
    }
    for (const ChoiceRow& c : records_.choices) HONE_RETURN_IF_ERROR(note(c.workload, c.target));
    HONE_RETURN_IF_ERROR(intern(db_, kFindWorkload, kAddWorkload, workloads, &workload_ids_));
    HONE_RETURN_IF_ERROR(intern(db_, kFindTarget, kAddTarget, targets, &target_ids_));
    HONE_RETURN_IF_ERROR(intern(db_, kFindOrigin, kAddOrigin, origins, &origin_ids_));
    return find_key_rows();
  }

  Status find_key_rows() {
    std::vector<SqlValues> hashes, fresh;
    std::vector<Key*> all, missing;
    for (auto& [hash, key] : keys_) hashes.push_back({hash}), all.push_back(&key);
    HONE_RETURN_IF_ERROR(db_.run_each(kFindKey, hashes, [&](size_t which, const SqlRow& row) {
      all[which]->id = row.integer(0), all[which]->latest = row.integer(1);
      return absl::OkStatus();
    }));
    std::map<int64_t, int64_t> of_workload;  // new keys
    for (auto& [hash, key] : keys_) {
      if (key.id != 0) continue;
      const TrialRow& t = *key.first;
      const int64_t workload = workload_ids_[hashes_[t.workload]];
      fresh.push_back({hash, owner_, workload, target_ids_[hashes_[t.target]], t.space, t.in_layout, t.out_layout,
                       std::string(target_kind(t.target)), int64_t{peer_.hides_rows}});
      missing.push_back(&key);
      ++of_workload[workload];
    }
    HONE_RETURN_IF_ERROR(check_room(of_workload));
    return db_.run_each(kAddKey, fresh, [&](size_t which, const SqlRow& row) {
      missing[which]->id = row.integer(0), missing[which]->unused = true;
      return absl::OkStatus();
    });
  }

  Status check_room(const std::map<int64_t, int64_t>& of_workload) {
    std::vector<SqlValues> workloads;
    std::vector<int64_t> fresh;
    for (const auto& [workload, n] : of_workload) workloads.push_back({workload, owner_}), fresh.push_back(n);
    return db_.run_each(kCountKeys, workloads, [&](size_t which, const SqlRow& row) -> Status {
      if (row.integer(0) + fresh[which] <= kMostKeysOfAWorkload) return absl::OkStatus();
      return absl::InvalidArgumentError(
          fmt::format("a workload with more than {} targets, spaces and layouts of one tenant", kMostKeysOfAWorkload));
    });
  }

  // A confirmation counts by its date: one of the future would outrank all that come until then.
  Status settle_dates() {
    int64_t earliest = now_ms_;
    for (const TrialRow& t : records_.trials) earliest = std::min(earliest, t.created_at);
    const int64_t before = std::max<int64_t>(earliest - 1, 1), latest = latest_date(now_ms_);
    std::vector<SqlValues> settled;
    for (auto& [hash, key] : keys_) {
      if (key.latest <= latest) continue;
      settled.push_back({key.id, before, latest});
      key.latest = before, key.touched = true;
    }
    return db_.run_each(kSettle, settled, kDropRows);
  }

  SqlValues trial_values(size_t i) {
    const TrialRow& t = records_.trials[i];
    const PhaseSeconds& p = t.phases;
    return {session_ids_[t.session],
            t.seq,
            t.candidate,
            keys_[key_hashes_[i]].id,
            origin_ids_[origin_hashes_[i]],
            t.config,
            t.module_hash,
            t.status,
            t.message,
            Json(t.times).dump(),
            sql_value(t.seconds),
            sql_value(t.censored),
            sql_value(t.confirmed),
            finite(t.rel_error),
            finite(t.max_error),
            finite(p.queue),
            finite(p.transfer),
            finite(p.build),
            finite(p.check),
            finite(p.run),
            finite(p.reference),
            finite(t.sentinel_before),
            finite(t.sentinel_after),
            settled_date(t.created_at, now_ms_),
            t.missing,
            machine_text(t.machine),
            t.features ? SqlValue(SqlBytes{*t.features}) : SqlValue(nullptr)};
  }

  Status add_trials() {
    HONE_RETURN_IF_ERROR(settle_dates());
    std::vector<SqlValues> values, disturbed;
    for (size_t i = 0; i < records_.trials.size(); ++i) {
      values.push_back(trial_values(i));
      count_.dated_ahead += records_.trials[i].created_at > latest_date(now_ms_);
    }
    HONE_RETURN_IF_ERROR(db_.run_each(kAddTrial, values, [&](size_t which, const SqlRow& row) {
      const TrialRow& t = records_.trials[which];
      ++count_.trials;
      if (t.disturbed) disturbed.push_back({row.integer(0), sql_value(t.default_seconds)});
      Key& key = keys_[key_hashes_[which]];
      key.unused = false;
      key.latest = std::max(key.latest, settled_date(t.created_at, now_ms_));
      key.measured += t.status == "ok";
      key.usable += t.seconds && !t.censored;
      key.touched = key.touched || key.usable > 0;
      return absl::OkStatus();
    }));
    count_.duplicates = static_cast<int64_t>(records_.trials.size()) - count_.trials;
    HONE_RETURN_IF_ERROR(db_.run_each(kAddDisturbed, disturbed, kDropRows));
    return offer();
  }

  Status offer() {
    std::vector<SqlValues> keys, updates, misses, unused;
    for (const auto& [hash, key] : keys_) {
      // A trial that is known came again with another key: the first counts.
      if (key.unused) {
        unused.push_back({key.id});
        continue;
      }
      updates.push_back({key.id, key.measured, key.usable, key.latest});
      if (!key.touched) continue;
      keys.push_back({key.id});
      if (!peer_.hides_rows) misses.push_back({miss_hash({key.first->workload, key.first->target})});
    }
    if (count_.trials > 0 || !keys.empty()) HONE_RETURN_IF_ERROR(db_.run_each(kUpdateKey, updates, kDropRows));
    HONE_RETURN_IF_ERROR(db_.run_each(kDropKey, unused, kDropRows));
    HONE_RETURN_IF_ERROR(db_.run_each(kOffer, keys, kDropRows));
    return db_.run_each(kEndMiss, misses, kDropRows);
  }

  Status put_choices() {
    std::vector<SqlValues> values;
    const int64_t latest = latest_date(now_ms_);
    for (const ChoiceRow& c : records_.choices) {
      count_.dated_ahead += c.created_at > latest;
      values.push_back({hash_of({std::to_string(owner_), c.workload, c.target, c.space, c.instead_of}), owner_,
                        workload_ids_[hashes_[c.workload]], target_ids_[hashes_[c.target]], c.space, c.config,
                        c.instead_of, c.seconds, c.instead_seconds, settled_date(c.created_at, now_ms_), latest,
                        int64_t{c.created_at <= latest}});
    }
    HONE_ASSIGN_OR_RETURN(count_.choices, db_.count_rows(kPutChoice, values));
    return absl::OkStatus();
  }

  Status put_definitions() {
    std::vector<SqlValues> values;
    for (const DefinitionRow& d : records_.definitions) values.push_back({owner_, d.hash, d.kind, d.text});
    HONE_ASSIGN_OR_RETURN(count_.definitions, db_.count_rows(kPutDefinition, values));
    return absl::OkStatus();
  }

  Status put_priors() {
    std::vector<SqlValues> values;
    const int64_t latest = latest_date(now_ms_);
    for (const PriorRow& p : records_.priors) {
      count_.dated_ahead += p.created_at > latest;
      values.push_back({owner_, p.target_kind, p.schema, p.hone_version, settled_date(p.created_at, now_ms_), p.groups,
                        p.trials, p.held_out, sql_value(p.pairwise), sql_value(p.peak1), sql_value(p.peak5),
                        SqlBytes{p.model}, latest, int64_t{p.created_at <= latest}});
    }
    HONE_ASSIGN_OR_RETURN(count_.priors, db_.count_rows(kPutPrior, values));
    return absl::OkStatus();
  }

  SqlConnection& db_;
  const RecordSet& records_;
  const TeamPeer& peer_;
  const int64_t now_ms_;
  ExchangeCount& count_;

  int64_t owner_ = 0;
  Ids session_ids_, workload_ids_, target_ids_, origin_ids_;
  std::map<std::string, std::string> hashes_;            // of workloads and targets, by their texts
  std::map<std::string, Key> keys_;                      // by hash
  std::vector<std::string> key_hashes_, origin_hashes_;  // of each trial
};

}  // namespace

Status check_team_rows(const RecordSet& records) {
  HONE_RETURN_IF_ERROR(check_rows(records.sessions));
  HONE_RETURN_IF_ERROR(check_rows(records.trials));
  HONE_RETURN_IF_ERROR(check_rows(records.choices));
  HONE_RETURN_IF_ERROR(check_rows(records.definitions));
  return check_rows(records.priors);
}

Status add_rows(SqlConnection& db, const RecordSet& records, const TeamPeer& peer, int64_t now_ms,
                ExchangeCount* count) {
  return Push(db, records, peer, now_ms, count).run();
}

}  // namespace hone::db
