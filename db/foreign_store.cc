#include "db/foreign_store.h"

#include <fmt/format.h>

#include "db/plausible.h"

namespace hone::db {

Status validate(const ForeignRow& r) {
  const auto bad = [](std::string why) { return absl::InvalidArgumentError(fmt::format("foreign record: {}", why)); };
  const std::pair<const char*, const std::string*> texts[] = {
      {"hash", &r.hash}, {"template", &r.template_name}, {"target", &r.target}, {"status", &r.status}};
  for (const auto& [name, text] : texts)
    if (text->empty()) return bad(fmt::format("{} is empty", name));
  if ((r.status == "ok") != r.seconds.has_value()) return bad("seconds must be given exactly when the status is ok");
  if (r.seconds && !believable(*r.seconds))
    return bad(fmt::format("seconds {} are not from {} to {}", *r.seconds, kLeastSeconds, kMostSeconds));
  return absl::OkStatus();
}

StatusOr<bool> ForeignStore::add_in_transaction(const ForeignRow& r, bool update_meaning) {
  HONE_RETURN_IF_ERROR(validate(r));
  {
    HONE_ASSIGN_OR_RETURN(
        Statement q,
        db_.cached("INSERT INTO foreign_records (hash, source, line, template, arguments, target, config, status, "
                   "seconds, workload, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) "
                   "ON CONFLICT (hash) DO NOTHING"));
    HONE_RETURN_IF_ERROR(q.bind(r.hash, r.source, r.line, r.template_name, r.arguments, r.target, r.config, r.status,
                                r.seconds, r.workload, r.reason));
    HONE_RETURN_IF_ERROR(q.run());
  }
  if (db_.changes() > 0) return true;
  if (!update_meaning) return false;
  HONE_ASSIGN_OR_RETURN(Statement q,
                        db_.cached("UPDATE foreign_records SET workload = ?2, reason = ?3 WHERE hash = ?1"));
  HONE_RETURN_IF_ERROR(q.bind(r.hash, r.workload, r.reason));
  HONE_RETURN_IF_ERROR(q.run());
  return false;
}

StatusOr<std::vector<ForeignRow>> ForeignStore::list(const std::string& task) const {
  // A range of the index: every workload's text begins with its task and a parenthesis, and ')' follows '('.
#define HONE_FOREIGN_COLUMNS \
  "hash, source, line, template, arguments, target, config, status, seconds, workload, reason"
  HONE_ASSIGN_OR_RETURN(
      Statement q,
      db_.prepare(task.empty() ? "SELECT " HONE_FOREIGN_COLUMNS " FROM foreign_records WHERE ?1 = '' ORDER BY id"
                               : "SELECT " HONE_FOREIGN_COLUMNS " FROM foreign_records "
                                 "WHERE workload >= ?1 || '(' AND workload < ?1 || ')' ORDER BY id"));
  HONE_RETURN_IF_ERROR(q.bind(task));
  std::vector<ForeignRow> records;
  for (;;) {
    HONE_ASSIGN_OR_RETURN(const bool row, q.step());
    if (!row) return records;
    ForeignRow r;
    r.hash = q.text(0), r.source = q.text(1), r.line = q.integer(2), r.template_name = q.text(3);
    r.arguments = q.text(4), r.target = q.text(5), r.config = q.text(6), r.status = q.text(7);
    r.seconds = q.maybe_real(8), r.workload = q.text(9), r.reason = q.text(10);
    records.push_back(std::move(r));
  }
}

StatusOr<int64_t> ForeignStore::count() const { return db_.query_integer("SELECT count(*) FROM foreign_records"); }

}  // namespace hone::db
