#include "db/autotvm.h"

#include <fmt/format.h>

#include <filesystem>
#include <istream>

#include "base/exit_code.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "db/plausible.h"

namespace hone::db {
namespace {

// AutoTVM's MeasureErrorNo as our statuses.
constexpr const char* kStatuses[] = {"ok",           "invalid_config", "build_failed", "build_failed", "run_failed",
                                     "wrong_result", "build_timeout",  "run_timeout",  "run_failed"};

// A record's arrays nest five deep; the values below are printed by recursion.
constexpr int kDeepest = 32;

// The line's value without parts that are nested deeper than that; `too_deep` says whether there were such.
Json parse_shallow(const std::string& line, bool* too_deep) {
  const auto keep = [too_deep](int depth, Json::parse_event_t event, Json&) {
    if (depth < kDeepest || (event != Json::parse_event_t::object_start && event != Json::parse_event_t::array_start))
      return true;
    *too_deep = true;
    return false;
  };
  return Json::parse(line, keep, /*allow_exceptions=*/false);
}

// Empty when there is nothing on the line but blanks or a comment.
std::string content_of(const std::string& line) {
  const size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos || line[first] == '#') return "";
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

const Json* member(const Json& object, const char* name, bool (Json::*is)() const noexcept) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(name);
  return it != object.end() && ((*it).*is)() ? &*it : nullptr;
}

// In a message: a piece of it, in ASCII.
std::string shown(const Json& json) {
  constexpr size_t kMost = 80;
  const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

Status bad(const std::string& why) { return absl::InvalidArgumentError(why); }

// [[seconds, …], error, …]: status and, when it is ok, the median.
Status read_result(const Json& result, ForeignRow* row) {
  if (result.size() < 2 || !result[0].is_array() || !result[1].is_number_integer())
    return bad("\"result\" is not [[seconds, ...], error, ...]");
  const auto error = result[1].get<int64_t>();
  if (error < 0 || error >= static_cast<int64_t>(std::size(kStatuses)))
    return bad(fmt::format("\"result\": error {} is not from 0 to {}", error, std::size(kStatuses) - 1));
  row->status = kStatuses[error];
  if (error != 0) return absl::OkStatus();
  std::vector<double> times;
  for (const Json& x : result[0]) {
    if (!x.is_number() || !believable(x.get<double>()))
      return bad(fmt::format("\"result\": time {} is not a number of seconds from {} to {}", shown(x), kLeastSeconds,
                             kMostSeconds));
    times.push_back(x.get<double>());
  }
  if (times.empty()) return bad("\"result\": it has neither times nor an error");
  row->seconds = median_of(times);
  return absl::OkStatus();
}

}  // namespace

bool is_autotvm_log(LineReader& lines) {
  std::string first;
  bool any = false;
  for (std::string line; first.empty() && lines.next(&line);) first = content_of(line), any = true;
  if (any) lines.again();
  return first.find("\"input\"") != std::string::npos || first.find("{\"i\"") == 0;
}

StatusOr<ForeignRow> autotvm_record(const std::string& line) {
  bool too_deep = false;
  const Json json = parse_shallow(line, &too_deep);
  if (too_deep) return bad(fmt::format("nested more than {} deep, which no record of AutoTVM is", kDeepest));
  if (!json.is_object()) return bad("not a JSON object");
  if (json.contains("i") && json.contains("r")) return bad("a record of AutoTVM's format 0.1; expected 0.2");
  const Json* input = member(json, "input", &Json::is_array);
  const Json* config = member(json, "config", &Json::is_object);
  const Json* result = member(json, "result", &Json::is_array);
  if (!input || !config || !result) return bad("not a record of AutoTVM: it has \"input\", \"config\" and \"result\"");
  if (input->size() < 3 || !(*input)[0].is_string() || !(*input)[1].is_string() || !(*input)[2].is_array())
    return bad("\"input\" is not [target, template, arguments, ...]");
  const Json* entity = member(*config, "entity", &Json::is_array);
  if (!entity) return bad("\"config\" has no array \"entity\"");
  for (const Json& knob : *entity)
    if (!knob.is_array() || knob.size() != 3 || !knob[0].is_string() || !knob[1].is_string())
      return bad("\"entity\": " + shown(knob) + " is not [knob, kind, value]");
  ForeignRow row;
  row.hash = hash_bytes(line).hex();
  row.target = (*input)[0].get<std::string>();
  row.template_name = (*input)[1].get<std::string>();
  row.arguments = (*input)[2].dump();
  row.config = entity->dump();
  HONE_RETURN_IF_ERROR(read_result(*result, &row));
  HONE_RETURN_IF_ERROR(check_foreign(row));
  return row;
}

StatusOr<ForeignCount> import_autotvm(Store& store, LineReader& lines, const std::string& name,
                                      const ForeignMapper& mapper) {
  HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(store.database()));
  const std::string source = clean_line(std::filesystem::path(name).filename().string());
  ForeignCount count;
  for (std::string line; lines.next(&line);) {
    const int64_t number = lines.number();
    const std::string content = content_of(line);
    if (content.empty()) continue;
    StatusOr<ForeignRow> row = autotvm_record(content);
    if (!row.ok())
      return usage_error(fmt::format("{}:{}: {}; nothing was imported", name, number, message_of(row.status())));
    row->source = source;
    row->line = number;
    const ForeignMeaning meaning = mapper ? mapper(*row) : ForeignMeaning{true, "", false, "nothing maps records here"};
    if (!meaning.reason.empty()) ++count.reasons[meaning.reason];
    if (!meaning.known) {
      ++count.skipped;
      continue;
    }
    row->workload = meaning.workload;
    row->reason = meaning.reason;
    HONE_ASSIGN_OR_RETURN(const bool fresh, store.foreign().add_in_transaction(*row, /*update_meaning=*/true));
    ++(fresh ? count.records : count.duplicates);
    count.mapped += !meaning.workload.empty();
    count.seeds += meaning.seed;
  }
  if (!lines.status().ok())
    return usage_error(
        fmt::format("{}:{}: {}; nothing was imported", name, lines.number(), message_of(lines.status())));
  HONE_RETURN_IF_ERROR(transaction.commit());
  return count;
}

}  // namespace hone::db
