#include "db/prior_store.h"

#include <fmt/format.h>

#include "db/best_rule.h"
#include "db/plausible.h"

namespace hone::db {
namespace {

#define HONE_PRIOR_COLUMNS \
  "target_kind, schema, hone_version, created_at, group_count, trial_count, held_out, pairwise, peak1, peak5"

PriorRow read_prior(const Statement& q) {
  PriorRow p;
  p.target_kind = q.text(0), p.schema = q.text(1), p.hone_version = q.text(2), p.created_at = q.integer(3);
  p.groups = q.integer(4), p.trials = q.integer(5), p.held_out = q.integer(6);
  p.pairwise = q.maybe_real(7), p.peak1 = q.maybe_real(8), p.peak5 = q.maybe_real(9);
  p.model = q.text(10);
  return p;
}

}  // namespace

Status validate(const PriorRow& p) {
  const auto bad = [](std::string why) { return absl::InvalidArgumentError(fmt::format("prior: {}", why)); };
  if (p.target_kind.empty()) return bad("target_kind is empty");
  if (p.schema.empty()) return bad("schema is empty");
  if (p.model.empty()) return bad("model is empty");
  if (p.model.size() > kMostModelBytes)
    return bad(fmt::format("a model of {} bytes, at most {} are allowed", p.model.size(), kMostModelBytes));
  if (p.created_at <= 0) return bad("created_at must be a Unix time in ms");
  if (p.groups < 1 || p.trials < p.groups) return bad("it must come from at least one group, and from a trial of each");
  if (p.held_out < 0 || p.held_out > p.groups) return bad("held_out must be from 0 to the number of groups");
  for (const auto& share : {p.pairwise, p.peak1, p.peak5})
    if (share && !(*share >= 0 && *share <= 1)) return bad(fmt::format("accuracy {} is not from 0 to 1", *share));
  return absl::OkStatus();
}

StatusOr<bool> PriorStore::put(const PriorRow& prior, int64_t now_ms) {
  HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(db_));
  HONE_ASSIGN_OR_RETURN(const bool fresh, put_in_transaction(prior, now_ms));
  HONE_RETURN_IF_ERROR(transaction.commit());
  return fresh;
}

StatusOr<bool> PriorStore::put_in_transaction(const PriorRow& p, int64_t now_ms) {
  if (now_ms == 0) now_ms = unix_ms();
  HONE_RETURN_IF_ERROR(check_foreign(p));
  HONE_ASSIGN_OR_RETURN(
      Statement q,
      db_.cached("INSERT INTO priors (" HONE_PRIOR_COLUMNS ", model) "
                 "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (target_kind, schema) DO UPDATE "
                 "SET hone_version = excluded.hone_version, created_at = excluded.created_at, "
                 "group_count = excluded.group_count, trial_count = excluded.trial_count, "
                 "held_out = excluded.held_out, pairwise = excluded.pairwise, peak1 = excluded.peak1, "
                 "peak5 = excluded.peak5, model = excluded.model "
                 "WHERE " HONE_REPLACES("priors", "model", "?13", "?12")));
  const int64_t latest = latest_date(now_ms);
  HONE_RETURN_IF_ERROR(q.bind(p.target_kind, p.schema, p.hone_version, settled_date(p.created_at, now_ms), p.groups,
                              p.trials, p.held_out, p.pairwise, p.peak1, p.peak5, Blob{p.model}, latest,
                              p.created_at <= latest));
  HONE_RETURN_IF_ERROR(q.run());
  return db_.changes() > 0;
}

StatusOr<std::optional<PriorRow>> PriorStore::find(const std::string& target_kind, const std::string& schema) const {
  HONE_ASSIGN_OR_RETURN(Statement q, db_.cached("SELECT " HONE_PRIOR_COLUMNS
                                                ", model FROM priors WHERE target_kind = ?1 AND schema = ?2"));
  HONE_RETURN_IF_ERROR(q.bind(target_kind, schema));
  HONE_ASSIGN_OR_RETURN(const bool row, q.step());
  return row ? std::optional(read_prior(q)) : std::nullopt;
}

StatusOr<std::vector<PriorRow>> PriorStore::list(const std::string& target_kind, bool with_models) const {
  HONE_ASSIGN_OR_RETURN(
      Statement q, db_.prepare("SELECT " HONE_PRIOR_COLUMNS
                               ", CASE WHEN ?2 THEN model ELSE x'' END FROM priors WHERE ?1 = '' OR target_kind = ?1 "
                               "ORDER BY target_kind, schema"));
  HONE_RETURN_IF_ERROR(q.bind(target_kind, with_models));
  std::vector<PriorRow> priors;
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const bool row, q.step());
    if (!row) return priors;
    priors.push_back(read_prior(q));
  }
}

}  // namespace hone::db
