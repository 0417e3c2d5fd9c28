#include "db/choice_store.h"

#include <fmt/format.h>

#include "db/best_rule.h"
#include "db/plausible.h"

namespace hone::db {
namespace {

#define HONE_CHOICE_COLUMNS "workload, target, space, config, instead_of, seconds, instead_seconds, created_at"

ChoiceRow read_choice(const Statement& q) {
  ChoiceRow c;
  c.workload = q.text(0), c.target = q.text(1), c.space = q.text(2), c.config = q.text(3), c.instead_of = q.text(4);
  c.seconds = q.real(5), c.instead_seconds = q.real(6), c.created_at = q.integer(7);
  return c;
}

}  // namespace

Status validate(const ChoiceRow& c) {
  const auto bad = [](std::string why) { return absl::InvalidArgumentError(fmt::format("choice: {}", why)); };
  if (c.workload.empty()) return bad("workload is empty");
  if (c.target.empty()) return bad("target is empty");
  if (c.space.empty()) return bad("space is empty");
  for (const double seconds : {c.seconds, c.instead_seconds})
    if (!believable(seconds)) return bad(fmt::format("a time of {} s", seconds));
  if (c.created_at <= 0) return bad("created_at must be a Unix time in ms");
  return absl::OkStatus();
}

StatusOr<bool> ChoiceStore::put(const ChoiceRow& choice, int64_t now_ms) {
  HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db_));
  HONE_ASSIGN_OR_RETURN(const bool fresh, put_in_transaction(choice, now_ms));
  HONE_RETURN_IF_ERROR(transaction.commit());
  return fresh;
}

StatusOr<bool> ChoiceStore::put_in_transaction(const ChoiceRow& c, int64_t now_ms) {
  if (now_ms == 0) now_ms = unix_ms();
  HONE_RETURN_IF_ERROR(check_foreign(c));
  HONE_ASSIGN_OR_RETURN(
      Statement q, db_.cached("INSERT INTO choices (" HONE_CHOICE_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
                              "ON CONFLICT (workload, target, space, instead_of) DO UPDATE SET "
                              "config = excluded.config, seconds = excluded.seconds, "
                              "instead_seconds = excluded.instead_seconds, created_at = excluded.created_at "
                              "WHERE " HONE_REPLACES("choices", "config", "?10", "?9")));
  const int64_t latest = latest_date(now_ms);
  HONE_RETURN_IF_ERROR(q.bind(c.workload, c.target, c.space, c.config, c.instead_of, c.seconds, c.instead_seconds,
                              settled_date(c.created_at, now_ms), latest, c.created_at <= latest));
  HONE_RETURN_IF_ERROR(q.run());
  return db_.changes() > 0;
}

StatusOr<std::optional<ChoiceRow>> ChoiceStore::find(const std::string& workload, const std::string& target,
                                                     const std::string& space, const std::string& instead_of) const {
  HONE_ASSIGN_OR_RETURN(Statement q, db_.cached("SELECT " HONE_CHOICE_COLUMNS
                                                " FROM choices WHERE workload = ?1 AND target = ?2 AND space = ?3 "
                                                "AND instead_of = ?4"));
  HONE_RETURN_IF_ERROR(q.bind(workload, target, space, instead_of));
  HONE_ASSIGN_OR_RETURN(const bool row, q.step());
  return row ? std::optional(read_choice(q)) : std::nullopt;
}

StatusOr<bool> ChoiceStore::was_tried_here(const ChoiceRow& c) const {
  HONE_ASSIGN_OR_RETURN(Statement q, db_.cached("SELECT " HONE_TRIED_HERE("?1", "?2", "?3", "?4")));
  HONE_RETURN_IF_ERROR(q.bind(c.workload, c.target, c.space, c.config));
  HONE_RETURN_IF_ERROR(q.step().status());
  return q.integer(0) != 0;
}

StatusOr<std::vector<ChoiceRow>> ChoiceStore::list(bool in_effect) const {
  HONE_ASSIGN_OR_RETURN(
      Statement q,
      db_.prepare("SELECT " HONE_CHOICE_COLUMNS
                  " FROM choices c WHERE NOT ?1 OR EXISTS (SELECT 1 FROM keys k JOIN best b ON b.key = k.id "
                  "JOIN trials t ON t.id = b.trial WHERE k.workload = c.workload AND k.target = c.target "
                  "AND k.space = c.space AND t.config = c.instead_of) ORDER BY workload, target, space, instead_of"));
  HONE_RETURN_IF_ERROR(q.bind(in_effect));
  std::vector<ChoiceRow> choices;
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const bool row, q.step());
    if (!row) return choices;
    choices.push_back(read_choice(q));
  }
}

}  // namespace hone::db
