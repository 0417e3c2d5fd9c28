#include "db/best_store.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/key.h"
#include "db/best_rule.h"
#include "db/plausible.h"
#include "db/trial_store.h"

namespace hone::db {
namespace {

// The numbers are kLeastSeconds and kMostGain.
static_assert(kLeastSeconds == 1e-9 && kMostGain == 32);
// Not more than kMostGain faster than the fastest confirmation by a session that ran on this file.
#define HONE_PLAUSIBLE(K) \
  " AND t.seconds * 32 >= coalesce((SELECT own.seconds FROM trials own WHERE own.key = " K " AND " HONE_USABLE("own") \
  " AND own.confirmed = 1 AND EXISTS (SELECT 1 FROM batches WHERE batches.session = own.session) ORDER BY own.seconds LIMIT 1), 0)"

constexpr const char* kOffer = HONE_OFFER_BEST(HONE_PLAUSIBLE);

#define HONE_BESTS "keys k JOIN best b ON b.key = k.id LEFT JOIN disturbed_trials d ON d.trial = b.trial"
#define HONE_BESTS_ORDER HONE_BEST_ORDER ", k.space, k.in_layout, k.out_layout"

// The columns of a BestRow: first those of the key, then those of the trial.
#define HONE_KEY_COLUMNS "k.workload, k.target, k.in_layout, k.out_layout, k.space"
#define HONE_TRIAL_COLUMNS \
  "o.template, o.revision, t.config, t.seconds, t.times, t.confirmed, o.device, o.device_model, o.profile, " \
  "o.hone_version, "                                                                                         \
  "o.codegen_version, t.module_hash, s.uuid, t.seq, t.candidate, t.created_at, "                             \
  "(SELECT what FROM missing_protections WHERE trial = t.id), t.sentinel_after, " HONE_DISTURBED(            \
      "t") ", (SELECT default_s FROM disturbed_trials WHERE trial = t.id), "                                 \
  "h.trial, h.governor, h.temperature_before, h.temperature_after, h.clock_before, h.clock_after, h.throttled"
#define HONE_TRIAL_ORIGIN                                                       \
  "JOIN sessions s ON s.id = t.session JOIN origins o ON o.id = t.origin LEFT " \
  "JOIN machine_states h ON h.trial = t.id "

void read_key(const Statement& q, BestRow& b) {
  b.workload = q.text(0), b.target = q.text(1), b.in_layout = q.text(2), b.out_layout = q.text(3), b.space = q.text(4);
}

// HONE_TRIAL_COLUMNS from column `c` on.
void read_trial(const Statement& q, int c, BestRow& b) {
  b.template_name = q.text(c++), b.template_revision = q.integer(c++);
  b.config = q.text(c++), b.seconds = q.real(c++), b.spread = spread_of(parse_times(q.view(c++)));
  b.confirmed = q.integer(c++) != 0;
  b.device = q.text(c++), b.device_model = q.text(c++), b.profile = q.text(c++);
  b.hone_version = q.text(c++), b.codegen_version = q.text(c++), b.module_hash = q.text(c++);
  b.session = q.text(c++), b.seq = q.integer(c++), b.candidate = q.integer(c++), b.updated_at = q.integer(c++);
  b.missing = q.text(c++);
  b.sentinel = q.real(c++), b.disturbed = q.integer(c++) != 0, b.default_seconds = q.maybe_real(c++);
  b.machine = read_machine(q, c);
}

StatusOr<std::vector<std::string>> read_texts(Statement& q) {
  std::vector<std::string> texts;
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const bool row, q.step());
    if (!row) return texts;
    texts.push_back(q.text(0));
  }
}

std::set<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::set<std::string> words;
  for (std::string word; in >> word;) words.insert(word);
  return words;
}

}  // namespace

void sort_by_likeness(std::vector<std::string>& targets, const std::string& target) {
  const std::set<std::string> wanted = words_of(target);
  std::map<std::string, size_t> in_common;
  for (const std::string& text : targets) {
    const auto [place, is_new] = in_common.try_emplace(text, 0);
    if (!is_new) continue;  // several sources know it
    for (const std::string& word : words_of(text)) place->second += wanted.count(word);
  }
  targets.clear();
  for (const auto& [text, n] : in_common) targets.push_back(text);
  std::stable_sort(targets.begin(), targets.end(),
                   [&](const std::string& a, const std::string& b) { return in_common[a] > in_common[b]; });
}

StatusOr<bool> BestStore::offer(int64_t key) {
  HONE_ASSIGN_OR_RETURN(Statement q, db_.cached(kOffer));
  HONE_RETURN_IF_ERROR(q.bind(key));
  HONE_RETURN_IF_ERROR(q.run());
  return db_.changes() > 0;
}

Status BestStore::visit(const std::string& workload, const std::string& target,
                        const std::optional<std::string>& in_layout, const std::optional<std::string>& out_layout,
                        const std::function<bool(BestRow&)>& visit) const {
  // Keys and bests alone are sorted, and a trial is read only when its turn comes: most often one of them is enough.
  HONE_ASSIGN_OR_RETURN(Statement keys,
                        db_.cached("SELECT " HONE_KEY_COLUMNS ", b.trial FROM " HONE_BESTS " "
                                   "WHERE k.workload = ?1 AND k.target = ?2 AND (?3 IS NULL OR k.in_layout = ?3) "
                                   "AND (?4 IS NULL OR k.out_layout = ?4) ORDER BY " HONE_BESTS_ORDER));
  HONE_ASSIGN_OR_RETURN(Statement trial,
                        db_.cached("SELECT " HONE_TRIAL_COLUMNS " FROM trials t " HONE_TRIAL_ORIGIN "WHERE t.id = ?1"));
  HONE_RETURN_IF_ERROR(keys.bind(workload, target, in_layout, out_layout));
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const bool row, keys.step());
    if (!row) return absl::OkStatus();
    HONE_RETURN_IF_ERROR(trial.bind(keys.integer(5)));
    HONE_ASSIGN_OR_RETURN(const bool found, trial.step());
    if (!found) continue;  // a damaged file: check_store() reports it
    BestRow best;
    read_key(keys, best);
    read_trial(trial, 0, best);
    if (visit(best)) return absl::OkStatus();
  }
}

StatusOr<std::vector<BestRow>> BestStore::find(const std::string& workload, const std::string& target,
                                               const std::optional<std::string>& in_layout,
                                               const std::optional<std::string>& out_layout) const {
  std::vector<BestRow> rows;
  HONE_RETURN_IF_ERROR(visit(workload, target, in_layout, out_layout, [&](BestRow& row) {
    rows.push_back(std::move(row));
    return false;
  }));
  return rows;
}

StatusOr<std::vector<BestRow>> BestStore::list(const BestFilter& f) const {
  HONE_ASSIGN_OR_RETURN(Statement q,
                        db_.prepare("SELECT " HONE_KEY_COLUMNS ", " HONE_TRIAL_COLUMNS " FROM " HONE_BESTS
                                    " JOIN trials t ON t.id = b.trial " HONE_TRIAL_ORIGIN
                                    "WHERE (?1 = '' OR k.workload = ?1) AND (?2 = '' OR k.target = ?2) "
                                    "AND (?3 IS NULL OR k.in_layout = ?3) AND (?4 IS NULL OR k.out_layout = ?4) "
                                    "AND (?5 = '' OR substr(k.workload, 1, length(?5) + 1) = ?5 || '(') "
                                    "AND (?6 = '' OR k.target = ?6 OR substr(k.target, 1, length(?6) + 1) = ?6 || ' ') "
                                    "ORDER BY k.workload, k.target, " HONE_BESTS_ORDER));
  HONE_RETURN_IF_ERROR(q.bind(f.workload, f.target, f.in_layout, f.out_layout, f.task, f.target_kind));
  std::vector<BestRow> rows;
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const bool row, q.step());
    if (!row) return rows;
    read_key(q, rows.emplace_back());
    read_trial(q, 5, rows.back());
  }
}

StatusOr<std::vector<std::string>> BestStore::other_targets(const std::string& workload,
                                                            const std::string& target) const {
  HONE_ASSIGN_OR_RETURN(Statement q, db_.cached("SELECT DISTINCT k.target FROM keys k JOIN best b ON b.key = k.id "
                                                "WHERE k.workload = ?1 AND k.target <> ?2 ORDER BY k.target"));
  HONE_RETURN_IF_ERROR(q.bind(workload, target));
  HONE_ASSIGN_OR_RETURN(std::vector<std::string> targets, read_texts(q));
  const std::string_view kind = target_kind(target);
  std::erase_if(targets, [&](const std::string& t) { return target_kind(t) != kind; });
  sort_by_likeness(targets, target);
  return targets;
}

StatusOr<std::vector<std::string>> BestStore::workloads(const std::string& task, const std::string& target_kind) const {
  // ")" is the character after "(": the range is every text that begins with task + "(", and the keys' index serves it.
  HONE_ASSIGN_OR_RETURN(Statement q,
                        db_.cached("SELECT DISTINCT k.workload FROM keys k JOIN best b ON b.key = k.id "
                                   "WHERE k.workload >= ?1 || '(' AND k.workload < ?1 || ')' "
                                   "AND (k.target = ?2 OR substr(k.target, 1, length(?2) + 1) = ?2 || ' ') "
                                   "ORDER BY k.workload"));
  HONE_RETURN_IF_ERROR(q.bind(task, target_kind));
  return read_texts(q);
}

StatusOr<int64_t> BestStore::rebuild() {
  HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db_));
  HONE_RETURN_IF_ERROR(db_.execute("CREATE TEMP TABLE before AS SELECT key, trial FROM best; DELETE FROM best"));
  std::vector<int64_t> keys;
  {
    HONE_ASSIGN_OR_RETURN(Statement q, db_.prepare("SELECT id FROM keys ORDER BY id"));
    for (;;) {
      HONE_ASSIGN_OR_RETURN(const bool row, q.step());
      if (!row) break;
      keys.push_back(q.integer(0));
    }
  }
  for (const int64_t key : keys) HONE_RETURN_IF_ERROR(offer(key).status());
  HONE_ASSIGN_OR_RETURN(
      const int64_t changed,
      db_.query_integer(
          "SELECT (SELECT count(*) FROM (SELECT key, trial FROM best EXCEPT SELECT key, trial FROM before)) + "
          "(SELECT count(*) FROM before WHERE key NOT IN (SELECT key FROM best))"));
  HONE_RETURN_IF_ERROR(db_.execute("DROP TABLE before"));
  HONE_RETURN_IF_ERROR(transaction.commit());
  return changed;
}

StatusOr<std::vector<std::string>> BestStore::stale() const {
  HONE_ASSIGN_OR_RETURN(
      Statement q,
      db_.prepare(
          "SELECT k.workload || ' for ' || k.target FROM keys k LEFT JOIN best b ON b.key = k.id "
          "LEFT JOIN trials of_best ON of_best.id = b.trial "
          "WHERE coalesce(b.trial, -1) <> " HONE_BEST_TRIAL_OF(
              "k.id", "-1",
              HONE_PLAUSIBLE) " OR b.seconds <> of_best.seconds OR b.confirmed <> of_best.confirmed ORDER BY k.id"));
  return read_texts(q);
}

}  // namespace hone::db
