#include "db/team/team_json.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "db/plausible.h"
#include "db/row_json.h"

namespace hone::db {
namespace {

OrderedJson to_json(const TeamKey& key) { return {key.workload, key.target}; }

TeamKey key_of(const Json& json) {
  TeamKey out;
  json.at(0).get_to(out.workload), json.at(1).get_to(out.target);
  return out;
}

OrderedJson to_json(const TeamBest& best) {
  const BestRow& b = best.row;
  OrderedJson out = {{"best", {b.workload, b.target, b.in_layout, b.out_layout}},
                     {"owner", best.owner},
                     {"trials", best.trials},
                     {"space", b.space},
                     {"template", b.template_name},
                     {"revision", b.template_revision},
                     {"config", b.config},
                     {"seconds", b.seconds},
                     {"spread", b.spread},
                     {"confirmed", b.confirmed},
                     {"sentinel", b.sentinel},
                     {"device", b.device},
                     {"device_model", b.device_model},
                     {"profile", b.profile},
                     {"versions", {b.hone_version, b.codegen_version}},
                     {"module_hash", b.module_hash},
                     {"trial", {b.session, b.seq, b.candidate}},
                     {"updated_at", b.updated_at}};
  if (b.disturbed) out["disturbed"] = {{"default_seconds", db::to_json(b.default_seconds)}};
  if (!b.missing.empty()) out["missing"] = b.missing;
  if (b.machine) out["machine"] = db::to_json(*b.machine);
  return out;
}

TeamBest best_of(const Json& j) {
  TeamBest out;
  BestRow& b = out.row;
  const Json &key = j.at("best"), &trial = j.at("trial");
  key.at(0).get_to(b.workload), key.at(1).get_to(b.target);
  key.at(2).get_to(b.in_layout), key.at(3).get_to(b.out_layout);
  j.at("owner").get_to(out.owner);
  get_whole(j.at("trials"), out.trials);
  j.at("space").get_to(b.space);
  j.at("template").get_to(b.template_name);
  get_whole(j.at("revision"), b.template_revision);
  j.at("config").get_to(b.config);
  j.at("seconds").get_to(b.seconds);
  j.at("spread").get_to(b.spread);
  j.at("confirmed").get_to(b.confirmed);
  j.at("sentinel").get_to(b.sentinel);
  j.at("device").get_to(b.device);
  j.at("device_model").get_to(b.device_model);
  j.at("profile").get_to(b.profile);
  j.at("versions").at(0).get_to(b.hone_version), j.at("versions").at(1).get_to(b.codegen_version);
  j.at("module_hash").get_to(b.module_hash);
  trial.at(0).get_to(b.session), get_whole(trial.at(1), b.seq), get_whole(trial.at(2), b.candidate);
  get_whole(j.at("updated_at"), b.updated_at);
  if (const auto disturbed = j.find("disturbed"); disturbed != j.end()) {
    b.disturbed = true;
    if (const Json& seconds = disturbed->at("default_seconds"); !seconds.is_null())
      b.default_seconds = seconds.get<double>();
  }
  if (const auto missing = j.find("missing"); missing != j.end()) missing->get_to(b.missing);
  if (const auto machine = j.find("machine"); machine != j.end()) b.machine = machine_of(*machine);
  return out;
}

TeamChoice team_choice_of(const Json& j) { return {choice_of(j), j.at("owner").get<std::string>()}; }

TeamMiss miss_of(const Json& j) {
  TeamMiss out{key_of(j.at("miss"))};
  get_whole(j.at("count"), out.count);
  get_whole(j.at("first"), out.first), get_whole(j.at("last"), out.last);
  return out;
}

// An object; `what` it should be.
StatusOr<Json> parse_object(std::string_view text, const char* what) {
  try {
    Json json = Json::parse(text);
    if (json.is_object()) return json;
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(fmt::format("not {}: {}", what, clean_line(plain_json_error(e.what()), 200)));
  }
  return absl::InvalidArgumentError(fmt::format("not {}: not a JSON object", what));
}

// The array at `name`; none where the member is missing.
StatusOr<Json> take_array(Json& json, const char* name, size_t most) {
  const auto found = json.find(name);
  if (found == json.end()) return Json::array();
  if (!found->is_array()) return absl::InvalidArgumentError(fmt::format("{} is not an array", name));
  if (found->size() > most)
    return absl::InvalidArgumentError(fmt::format("{} {}, at most {} are allowed", found->size(), name, most));
  return std::move(*found);
}

StatusOr<std::string> tenant_of(const Json& json) {
  const auto found = json.find("tenant");
  if (found == json.end()) return "";
  if (!found->is_string()) return absl::InvalidArgumentError("tenant is not a text");
  auto tenant = found->get<std::string>();
  HONE_RETURN_IF_ERROR(check_owner(tenant));
  return tenant;
}

// The rows of an array that `make` and check_foreign() take; the others are counted in `to`.
template <class Row, class Rows>
void read_rows(const Json& array, Row (*make)(const Json&), std::vector<Row>& rows, TeamReading<Rows>& to) {
  for (const Json& json : array) {
    Status status;
    try {
      Row row = make(json);
      status = check_foreign(row);
      if (status.ok()) rows.push_back(std::move(row));
    } catch (const std::exception& e) {
      status = absl::InvalidArgumentError(plain_json_error(e.what()));
    }
    if (!status.ok() && ++to.left_out == 1) to.why = clean_line(message_of(status), 500);
  }
}

Status check_count(const char* name, int64_t count) {
  if (count >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{} {} is negative", name, count));
}

}  // namespace

Status check_owner(const std::string& tenant) {
  if (tenant.size() > kMostOwnerBytes)
    return absl::InvalidArgumentError(
        fmt::format("a tenant's name of {} bytes, at most {} are allowed", tenant.size(), kMostOwnerBytes));
  if (has_controls(tenant) || clean_line(tenant) != tenant)
    return absl::InvalidArgumentError("a tenant's name holds control characters, or bytes that are no UTF-8");
  return absl::OkStatus();
}

Status check_foreign(const TeamBest& best) {
  HONE_RETURN_IF_ERROR(check_owner(best.owner));
  HONE_RETURN_IF_ERROR(check_count("trials", best.trials));
  return check_foreign(best.row);
}

Status check_foreign(const TeamChoice& choice) {
  HONE_RETURN_IF_ERROR(check_owner(choice.owner));
  return check_foreign(choice.row);
}

Status check_foreign(const TeamKey& key) { return check_foreign_key(key.workload, key.target); }

Status check_foreign(const TeamMiss& miss) {
  HONE_RETURN_IF_ERROR(check_count("count", miss.count));
  if (miss.first <= 0 || miss.last < miss.first)
    return absl::InvalidArgumentError(fmt::format("a miss from {} until {} is of no time", miss.first, miss.last));
  return check_foreign(miss.key);
}

std::string team_query_json(const TeamQuery& query) {
  OrderedJson keys = OrderedJson::array();
  for (const TeamKey& key : query.keys) keys.push_back(to_json(key));
  return json_line(OrderedJson{{"keys", std::move(keys)}, {"nearest", query.nearest}});
}

StatusOr<TeamQuery> parse_team_query(std::string_view text) {
  HONE_ASSIGN_OR_RETURN(Json json, parse_object(text, "a query"));
  HONE_ASSIGN_OR_RETURN(const Json keys, take_array(json, "keys", kMostTeamKeys));
  TeamQuery out;
  std::set<TeamKey> seen;
  try {
    out.nearest = json.value("nearest", true);
    for (const Json& item : keys) {
      TeamKey key = key_of(item);
      HONE_RETURN_IF_ERROR(check_foreign(key));
      if (seen.insert(key).second) out.keys.push_back(std::move(key));
    }
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(fmt::format("not a query: {}", clean_line(plain_json_error(e.what()), 200)));
  }
  return out;
}

std::string team_answer_json(const TeamAnswer& answer, const std::string& tenant) {
  OrderedJson bests = OrderedJson::array(), choices = OrderedJson::array(), definitions = OrderedJson::array();
  for (const TeamBest& best : answer.bests) bests.push_back(to_json(best));
  for (const TeamChoice& choice : answer.choices) {
    choices.push_back(db::to_json(choice.row));
    choices.back()["owner"] = choice.owner;
  }
  for (const DefinitionRow& definition : answer.definitions) definitions.push_back(db::to_json(definition));
  return json_line(OrderedJson{{"tenant", tenant},
                               {"bests", std::move(bests)},
                               {"choices", std::move(choices)},
                               {"definitions", std::move(definitions)}});
}

StatusOr<TeamReading<TeamAnswer>> parse_team_answer(std::string_view text) {
  HONE_ASSIGN_OR_RETURN(Json json, parse_object(text, "an answer"));
  if (!json.contains("bests")) return absl::InvalidArgumentError("not an answer: it has no bests");
  TeamReading<TeamAnswer> out;
  HONE_ASSIGN_OR_RETURN(out.tenant, tenant_of(json));
  HONE_ASSIGN_OR_RETURN(const Json bests, take_array(json, "bests", kMostTeamBests));
  HONE_ASSIGN_OR_RETURN(const Json choices, take_array(json, "choices", kMostTeamBests));
  HONE_ASSIGN_OR_RETURN(const Json definitions, take_array(json, "definitions", kMostTeamBests));
  read_rows(bests, &best_of, out.rows.bests, out);
  read_rows(choices, &team_choice_of, out.rows.choices, out);
  read_rows(definitions, &definition_of, out.rows.definitions, out);
  return out;
}

std::string team_misses_json(const std::vector<TeamMiss>& misses, const std::string& tenant) {
  OrderedJson rows = OrderedJson::array();
  for (const TeamMiss& miss : misses)
    rows.push_back({{"miss", to_json(miss.key)}, {"count", miss.count}, {"first", miss.first}, {"last", miss.last}});
  return json_line(OrderedJson{{"tenant", tenant}, {"misses", std::move(rows)}});
}

StatusOr<TeamReading<std::vector<TeamMiss>>> parse_team_misses(std::string_view text) {
  HONE_ASSIGN_OR_RETURN(Json json, parse_object(text, "a list of misses"));
  if (!json.contains("misses")) return absl::InvalidArgumentError("not a list of misses: it has none");
  TeamReading<std::vector<TeamMiss>> out;
  HONE_ASSIGN_OR_RETURN(out.tenant, tenant_of(json));
  HONE_ASSIGN_OR_RETURN(const Json misses, take_array(json, "misses", kMostTeamMisses));
  read_rows(misses, &miss_of, out.rows, out);
  return out;
}

}  // namespace hone::db
