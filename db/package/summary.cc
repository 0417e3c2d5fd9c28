#include "db/package/summary.h"

#include <absl/strings/str_join.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <stdexcept>

#include "base/text.h"
#include "db/plausible.h"

namespace hone::db {
namespace {

constexpr size_t kMostEntries = 10'000;  // of a list

std::string day_text(int64_t ms) {
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(seconds));
}

std::string checked(const Json& j) {
  if (!j.is_string()) throw std::invalid_argument("a name is no text");
  const auto& text = j.get_ref<const std::string&>();
  if (text.size() > kMostTextBytes || has_controls(text))
    throw std::invalid_argument("a text is too long or not one line");
  return text;
}

const Json& list_in(const Json& j, const char* member) {
  const Json& list = j.at(member);
  if (!list.is_array() || list.size() > kMostEntries)
    throw std::invalid_argument(fmt::format("'{}' is no list, or too long", member));
  return list;
}

std::string counted(int64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

}  // namespace

bool PackageSummary::counts_as(const PackageSummary& other) const {
  PackageSummary a = *this;
  a.first = other.first, a.last = other.last;
  return a == other;
}

StatusOr<PackageSummary> summary_of(Store& store) {
  PackageSummary s;
  std::map<std::string, std::pair<std::set<std::string>, int64_t>> machines;
  std::map<std::pair<std::string, std::string>, int64_t> versions;
  std::set<std::string> targets, workloads, sessions;
  HONE_RETURN_IF_ERROR(store.trials().for_each_sorted([&](const TrialRow& t) {
    auto& [devices, trials] = machines[t.device_model];
    devices.insert(t.device), ++trials;
    ++versions[{t.hone_version, t.codegen_version}];
    targets.insert(t.target), workloads.insert(t.workload), sessions.insert(t.session);
    s.first = s.trials == 0 ? t.created_at : std::min(s.first, t.created_at);
    s.last = std::max(s.last, t.created_at);
    ++s.trials;
    return absl::OkStatus();
  }));
  for (const auto& [model, seen] : machines)
    s.machines.push_back({model, static_cast<int64_t>(seen.first.size()), seen.second});
  for (const auto& [version, trials] : versions) s.versions.push_back({version.first, version.second, trials});
  s.targets.assign(targets.begin(), targets.end());
  s.workloads = static_cast<int64_t>(workloads.size()), s.sessions = static_cast<int64_t>(sessions.size());
  HONE_ASSIGN_OR_RETURN(const std::vector<BestRow> bests, store.best().list());
  s.bests = static_cast<int64_t>(bests.size());
  for (const BestRow& b : bests) s.confirmed += b.confirmed, s.disturbed += b.disturbed;
  HONE_ASSIGN_OR_RETURN(s.choices, store.database().query_integer("SELECT count(*) FROM choices"));
  HONE_ASSIGN_OR_RETURN(s.definitions, store.database().query_integer("SELECT count(*) FROM definitions"));
  HONE_ASSIGN_OR_RETURN(s.priors, store.database().query_integer("SELECT count(*) FROM priors"));
  return s;
}

OrderedJson to_json(const PackageSummary& s) {
  OrderedJson j;
  j["machines"] = OrderedJson::array();
  for (const auto& m : s.machines)
    j["machines"].push_back({{"model", m.model}, {"devices", m.devices}, {"trials", m.trials}});
  j["versions"] = OrderedJson::array();
  for (const auto& v : s.versions)
    j["versions"].push_back({{"hone", v.hone}, {"codegen", v.codegen}, {"trials", v.trials}});
  j["targets"] = s.targets;
  for (const auto& [name, count] : {std::pair("workloads", s.workloads),
                                    {"sessions", s.sessions},
                                    {"trials", s.trials},
                                    {"bests", s.bests},
                                    {"confirmed", s.confirmed},
                                    {"disturbed", s.disturbed},
                                    {"choices", s.choices},
                                    {"definitions", s.definitions},
                                    {"priors", s.priors},
                                    {"first", s.first},
                                    {"last", s.last}})
    j[name] = count;
  return j;
}

PackageSummary summary_of(const Json& j) {
  PackageSummary s;
  for (const Json& m : list_in(j, "machines"))
    s.machines.push_back({checked(m.at("model")), m.at("devices").get<int64_t>(), m.at("trials").get<int64_t>()});
  for (const Json& v : list_in(j, "versions"))
    s.versions.push_back({checked(v.at("hone")), checked(v.at("codegen")), v.at("trials").get<int64_t>()});
  for (const Json& t : list_in(j, "targets")) s.targets.push_back(checked(t));
  for (const auto& [name, count] : {std::pair("workloads", &s.workloads),
                                    {"sessions", &s.sessions},
                                    {"trials", &s.trials},
                                    {"bests", &s.bests},
                                    {"confirmed", &s.confirmed},
                                    {"disturbed", &s.disturbed},
                                    {"choices", &s.choices},
                                    {"definitions", &s.definitions},
                                    {"priors", &s.priors},
                                    {"first", &s.first},
                                    {"last", &s.last}}) {
    j.at(name).get_to(*count);
    if (*count < 0 || *count > kAnyDate) throw std::invalid_argument(fmt::format("'{}' is no count", name));
  }
  return s;
}

std::string to_string(const PackageSummary& s) {
  std::vector<std::string> parts;
  if (s.trials > 0) {
    const std::string machines = absl::StrJoin(s.machines, ", ", [](std::string* out, const auto& m) {
      *out += fmt::format("{} ({})", clean_line(m.model), counted(m.devices, "device"));
    });
    parts.push_back(fmt::format("{} for {}, {} ({} confirmed, {} disturbed) of {} on {}",
                                counted(s.workloads, "workload"),
                                counted(static_cast<int64_t>(s.targets.size()), "target"), counted(s.bests, "best"),
                                s.confirmed, s.disturbed, counted(s.trials, "trial"), machines));
    parts.push_back(fmt::format("{} to {}", day_text(s.first), day_text(s.last)));
    std::set<std::string> versions;
    for (const auto& v : s.versions) versions.insert(clean_line(v.hone));
    parts.push_back("hone " + absl::StrJoin(versions, ", "));
  }
  for (const auto& [n, what] : {std::pair(s.choices, "choice"), {s.definitions, "definition"}, {s.priors, "prior"}})
    if (n > 0) parts.push_back(counted(n, what));
  return parts.empty() ? "nothing" : absl::StrJoin(parts, ", ");
}

}  // namespace hone::db
