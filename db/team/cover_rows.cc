// The overview, page by page: the workloads of the page first, then what their keys and trials add up to.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "db/team/sql_store.h"

namespace hone::db {
namespace {

// Texts by their first letters, which have an index, then whole. `replace` finds a part with regard to case, as LIKE
// does in one of the two databases alone.
#define HONE_HOLDS(TEXT, PART) "replace(" TEXT ", " PART ", '') <> " TEXT
constexpr Sql kLinePage = {
    "SELECT w.id, w.text FROM workloads w WHERE substr(w.text, 1, 200) >= substr(?1, 1, 200) AND w.text >= ?1 "
    "AND EXISTS (SELECT 1 FROM keys k JOIN owners o ON o.id = k.owner JOIN targets g ON g.id = k.target WHERE "
    "k.workload = w.id AND " HONE_SEEN("?3", "?4") " AND (?2 = '' OR " HONE_HOLDS("w.text", "?2") " OR " HONE_HOLDS(
        "g.text", "?2") ")) ORDER BY substr(w.text, 1, 200), w.text LIMIT ?5",
    "tttii"};
constexpr Sql kLineSums = {
    "SELECT g.text, o.name, count(*), sum(CASE WHEN d.trial IS NOT NULL THEN 1 ELSE 0 END), min(t.created_at), "
    "max(t.created_at) FROM keys k JOIN trials t ON t.key = k.id JOIN owners o ON o.id = k.owner JOIN targets g ON "
    "g.id = k.target LEFT JOIN disturbed_trials d ON d.trial = t.id WHERE k.workload = ?1 "
    "AND " HONE_SEEN("?2", "?3") " GROUP BY g.text, o.name",
    "iti"};
constexpr Sql kLineSources = {
    "SELECT DISTINCT g.text, o.name, t.session, r.device FROM keys k JOIN trials t ON t.key = k.id JOIN owners o ON "
    "o.id = k.owner JOIN targets g ON g.id = k.target JOIN origins r ON r.id = t.origin WHERE k.workload = ?1 "
    "AND " HONE_SEEN("?2", "?3"),
    "iti"};
constexpr Sql kLineBests = {
    "SELECT g.text, o.name, b.confirmed, d.trial IS NOT NULL, d.default_s, b.seconds FROM keys k JOIN best b ON b.key "
    "= k.id JOIN owners o ON o.id = k.owner JOIN targets g ON g.id = k.target LEFT JOIN disturbed_trials d ON d.trial "
    "= b.trial WHERE k.workload = ?1 AND " HONE_SEEN("?2", "?3"),
    "iti"};

using LineName = std::pair<std::string, std::string>;  // target and owner

struct Line {
  TeamCoverage sums;
  std::set<int64_t> sessions;
  std::set<std::string> devices;
  std::tuple<int, bool, double> rank;  // of its best
};

}  // namespace

Status cover_rows(SqlConnection& db, const TeamPeer& peer, const std::string& contains,
                  const std::optional<TeamCoverage>& after, size_t limit, std::vector<TeamCoverage>* lines) {
  if (limit == 0) return absl::OkStatus();
  const int64_t admin = int64_t{peer.is_admin};
  std::vector<std::string> workloads;
  std::vector<SqlValues> values;
  // One more: the first may have no line behind `after`.
  HONE_RETURN_IF_ERROR(db.run(kLinePage,
                              {after ? after->key.workload : "", contains, peer.tenant, admin,
                               static_cast<int64_t>(std::min<size_t>(limit, 10'000)) + 1},
                              [&](const SqlRow& row) {
                                values.push_back({row.integer(0), peer.tenant, admin});
                                return workloads.push_back(row.text(1)), absl::OkStatus();
                              }));
  std::vector<std::map<LineName, Line>> found(workloads.size());
  HONE_RETURN_IF_ERROR(db.run_each(kLineSums, values, [&](size_t which, const SqlRow& row) {
    TeamCoverage& sums = found[which][{row.text(0), row.text(1)}].sums;
    sums.trials = row.integer(2), sums.disturbed = row.integer(3);
    sums.first = row.integer(4), sums.last = row.integer(5);
    return absl::OkStatus();
  }));
  HONE_RETURN_IF_ERROR(db.run_each(kLineSources, values, [&](size_t which, const SqlRow& row) {
    Line& line = found[which][{row.text(0), row.text(1)}];
    line.sessions.insert(row.integer(2));
    if (const std::string device = row.text(3); !device.empty()) line.devices.insert(device);
    return absl::OkStatus();
  }));
  HONE_RETURN_IF_ERROR(db.run_each(kLineBests, values, [&](size_t which, const SqlRow& row) {
    Line& line = found[which][{row.text(0), row.text(1)}];
    const bool confirmed = row.integer(2) != 0, disturbed = row.integer(3) != 0;
    const std::optional<double> default_seconds = row.maybe_real(4);
    const std::tuple rank((confirmed ? 0 : 2) + (disturbed ? 1 : 0), disturbed && !default_seconds,
                          row.real(5) / default_seconds.value_or(1));
    if (line.sums.best_seconds && line.rank <= rank) return absl::OkStatus();
    line.rank = rank, line.sums.best_seconds = row.real(5), line.sums.confirmed = confirmed;
    return absl::OkStatus();
  }));
  const auto place = [](const TeamCoverage& c) { return std::tie(c.key.workload, c.key.target, c.owner); };
  for (size_t i = 0; i < found.size(); ++i)
    for (auto& [name, line] : found[i]) {
      TeamCoverage& sums = line.sums;
      sums.key = {workloads[i], name.first}, sums.owner = name.second;
      if (!contains.empty() && workloads[i].find(contains) == std::string::npos &&
          name.first.find(contains) == std::string::npos)
        continue;
      if (after && place(sums) <= place(*after)) continue;
      sums.sessions = static_cast<int64_t>(line.sessions.size());
      for (const std::string& device : line.devices) sums.devices += (sums.devices.empty() ? "" : ",") + device;
      lines->push_back(std::move(sums));
      if (lines->size() == limit) return absl::OkStatus();
    }
  return absl::OkStatus();
}

}  // namespace hone::db
