#include "db/check.h"

#include <fmt/format.h>

#include "base/key.h"
#include "db/plausible.h"

namespace hone::db {
namespace {

// One problem a row; the first column is the text.
constexpr const char* kQueries[] = {
    "SELECT 'pages: ' || integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
    "SELECT 'row ' || coalesce(rowid, '?') || ' of ' || \"table\" || ' points to a missing row of ' || parent FROM "
    "pragma_foreign_key_check",
    "SELECT 'trial ' || id || ': its times are not a JSON array' FROM trials "
    "WHERE CASE WHEN json_valid(times) THEN json_type(times) <> 'array' ELSE 1 END",
    "SELECT 'trial ' || id || ': status ' || status || CASE WHEN seconds IS NULL THEN ' without a time' ELSE ' with a "
    "time' END "
    "FROM trials WHERE (status = 'ok') <> (seconds IS NOT NULL)",
    "SELECT 'trial ' || id || ': a time of ' || seconds || ' s' FROM trials WHERE seconds < 1e-9 OR seconds > 1e6",
    "SELECT 'trial ' || id || ': made at ' || created_at || ' ms, which is not a time' FROM trials WHERE created_at <= "
    "0",
    "SELECT 'trial ' || t.id || ': its config, status, message or device holds control characters' FROM trials t "
    "JOIN origins o ON o.id = t.origin WHERE t.config || t.status || t.message || o.device || o.device_model GLOB "
    "'*[' || char(1) || '-' || char(31) || char(127) || '-' || char(159) || ']*'",
    // The median lies between the extremes, up to rounding.
    "SELECT 'trial ' || id || ': the median of ' || seconds || ' s is not among its times ' || times FROM trials "
    "WHERE seconds IS NOT NULL AND CASE WHEN json_valid(times) THEN "
    "seconds < (SELECT min(value) FROM json_each(times)) * (1 - 1e-9) OR seconds > (SELECT max(value) FROM "
    "json_each(times)) * (1 + 1e-9) "
    "ELSE 0 END",
    "SELECT 'trial ' || trial || ': the default next to it took ' || default_s || ' s' FROM disturbed_trials WHERE "
    "default_s <= 0",
    "SELECT 'trial ' || trial || ': its machine had ' || coalesce(temperature_before, '?') || ' to ' || "
    "coalesce(temperature_after, '?') || ' °C and ' || coalesce(clock_before, '?') || ' to ' || "
    "coalesce(clock_after, '?') || ' MHz' FROM machine_states WHERE "
    "max(abs(coalesce(temperature_before, 0)), abs(coalesce(temperature_after, 0))) > 1000 OR "
    "max(coalesce(clock_before, 0), coalesce(clock_after, 0)) > 1e6 OR "
    "min(coalesce(clock_before, 0), coalesce(clock_after, 0)) < 0",
    "SELECT 'prior for ' || target_kind || ': ' || CASE WHEN length(model) = 0 THEN 'its model is empty' ELSE 'trained "
    "on ' "
    "|| trial_count || ' trials of ' || group_count || ' groups, ' || held_out || ' held out' END FROM priors "
    "WHERE length(model) = 0 OR group_count < 1 OR trial_count < group_count OR held_out < 0 OR held_out > group_count",
    "SELECT 'prior for ' || target_kind || ': made at ' || created_at || ' ms, which is not a time' FROM priors "
    "WHERE created_at <= 0",
    "SELECT 'prior for ' || target_kind || ': an accuracy that is not from 0 to 1' FROM priors "
    "WHERE min(coalesce(pairwise, 0), coalesce(peak1, 0), coalesce(peak5, 0)) < 0 OR "
    "max(coalesce(pairwise, 0), coalesce(peak1, 0), coalesce(peak5, 0)) > 1",
    "SELECT 'choice for ' || workload || ': ' || CASE WHEN min(seconds, instead_seconds) < 1e-9 OR max(seconds, "
    "instead_seconds) > 1e6 THEN 'times of ' || seconds || ' and ' || instead_seconds || ' s' ELSE 'made at ' || "
    "created_at || ' ms, which is not a time' END FROM choices WHERE min(seconds, instead_seconds) < 1e-9 OR "
    "max(seconds, instead_seconds) > 1e6 OR created_at <= 0",
    "SELECT 'foreign record ' || id || ' (' || source || ':' || line || '): its arguments or config are not JSON "
    "arrays' "
    "FROM foreign_records WHERE CASE WHEN json_valid(arguments) AND json_valid(config) THEN "
    "json_type(arguments) <> 'array' OR json_type(config) <> 'array' ELSE 1 END",
    "SELECT 'foreign record ' || id || ' (' || source || ':' || line || '): status ' || status || "
    "CASE WHEN seconds IS NULL THEN ' without a time' ELSE ' with a time of ' || seconds || ' s' END FROM "
    "foreign_records "
    "WHERE (status = 'ok') <> (seconds IS NOT NULL) OR seconds < 1e-9 OR seconds > 1e6",
};

// Texts of `sql`'s first column that are no keys, as `parse` reads them.
template <class Parse>
Status add_no_keys(Store& store, const char* sql, const Parse& parse, size_t limit,
                   std::vector<std::string>* problems) {
  HONE_ASSIGN_OR_RETURN(Statement q, store.database().prepare(sql));
  while (problems->size() < limit) {
    HONE_ASSIGN_OR_RETURN(const bool row, q.step());
    if (!row) break;
    const auto key = parse(q.text(0));
    if (!key.ok()) problems->push_back("not a key: " + message_of(key.status()));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::vector<std::string>> check_store(Store& store, size_t limit) {
  std::vector<std::string> problems;
  for (const char* sql : kQueries) {
    HONE_ASSIGN_OR_RETURN(Statement q, store.database().prepare(sql));
    while (problems.size() < limit) {
      HONE_ASSIGN_OR_RETURN(const bool row, q.step());
      if (!row) break;
      problems.push_back(q.text(0));
    }
  }
  HONE_RETURN_IF_ERROR(add_no_keys(
      store, "SELECT DISTINCT workload FROM keys", [](const auto& t) { return parse_workload_key(t); }, limit,
      &problems));
  HONE_RETURN_IF_ERROR(add_no_keys(
      store, "SELECT DISTINCT target FROM keys", [](const auto& t) { return parse_target_key(t); }, limit, &problems));
  HONE_RETURN_IF_ERROR(add_no_keys(
      store, "SELECT DISTINCT config FROM trials", [](const auto& t) { return parse_config_key(t); }, limit,
      &problems));
  HONE_ASSIGN_OR_RETURN(const std::vector<DefinitionRow> definitions, store.definitions().list());
  for (const DefinitionRow& definition : definitions)
    if (const Status s = validate(definition); !s.ok() && problems.size() < limit) problems.push_back(message_of(s));
  HONE_ASSIGN_OR_RETURN(const std::vector<std::string> stale, store.best().stale());
  for (const std::string& best : stale)
    if (problems.size() < limit)
      problems.push_back(fmt::format("the best of {} does not follow from the trials", best));
  return problems;
}

StatusOr<int64_t> count_dated_ahead(Store& store, int64_t now_ms) {
  HONE_ASSIGN_OR_RETURN(
      Statement q,
      store.database().prepare("SELECT (SELECT count(*) FROM trials WHERE created_at > ?1) + (SELECT count(*) FROM "
                               "choices WHERE created_at > ?1) + (SELECT count(*) FROM priors WHERE created_at > ?1)"));
  HONE_RETURN_IF_ERROR(q.bind(latest_date(now_ms == 0 ? unix_ms() : now_ms)));
  HONE_ASSIGN_OR_RETURN(const bool row, q.step());
  return row ? q.integer(0) : 0;
}

}  // namespace hone::db
