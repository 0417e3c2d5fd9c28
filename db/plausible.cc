#include "db/plausible.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <utility>

#include "base/key.h"
#include "base/text.h"
#include "db/choice_store.h"
#include "db/definition_store.h"
#include "db/foreign_store.h"
#include "db/prior_store.h"

namespace hone::db {
namespace {

struct NamedText {
  const char* name;
  const std::string& text;
};

Status check_texts(std::initializer_list<NamedText> texts) {
  for (const auto& [name, text] : texts) {
    if (has_controls(text)) return absl::InvalidArgumentError(fmt::format("{} holds control characters", name));
    if (text.size() > kMostTextBytes)
      return absl::InvalidArgumentError(
          fmt::format("{} has {} bytes, at most {} are allowed", name, text.size(), kMostTextBytes));
  }
  return absl::OkStatus();
}

template <class Key>
Status check_canonical(const char* what, const StatusOr<Key>& key, const std::string& text) {
  if (!key.ok()) return key.status();
  if (const std::string canonical = to_string(*key); canonical != text)
    return absl::InvalidArgumentError(fmt::format("{} '{}' is written '{}'", what, text, canonical));
  return absl::OkStatus();
}

Status check_workload(const std::string& text) { return check_canonical("workload", parse_workload_key(text), text); }
Status check_target(const std::string& text) { return check_canonical("target", parse_target_key(text), text); }
Status check_config(const std::string& text) { return check_canonical("config", parse_config_key(text), text); }

// A config that is no template's has a space of its own, or it would hide a template's best from programs that cannot
// build the config.
Status check_config_in_space(const std::string& text, const std::string& space) {
  HONE_RETURN_IF_ERROR(check_config(text));
  HONE_ASSIGN_OR_RETURN(const SpaceKind kind, parse_space_key(space));
  const ConfigKey config = *parse_config_key(text);
  if (space_of(config) == kind) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("config '{}' in space '{}': text(...) stands in the space text, vendor(...) in vendor, and nothing "
                  "else does",
                  text, space));
}

Status check_date(const char* name, int64_t ms) {
  if (ms > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{} {} is not a Unix time in ms", name, ms));
}

}  // namespace

int64_t latest_date(int64_t now_ms) { return now_ms < kClockWasSet ? INT64_MAX : std::min(now_ms, kAnyDate) + kDayMs; }

int64_t settled_date(int64_t ms, int64_t now_ms) { return now_ms < kClockWasSet ? ms : std::min(ms, now_ms); }

int64_t unix_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

Status check_foreign(const TrialRow& t) {
  HONE_RETURN_IF_ERROR(check_texts({{"session", t.session},
                                    {"workload", t.workload},
                                    {"target", t.target},
                                    {"space", t.space},
                                    {"template", t.template_name},
                                    {"config", t.config},
                                    {"in layout", t.in_layout},
                                    {"out layout", t.out_layout},
                                    {"module_hash", t.module_hash},
                                    {"status", t.status},
                                    {"message", t.message},
                                    {"device", t.device},
                                    {"device_model", t.device_model},
                                    {"missing", t.missing},
                                    {"profile", t.profile},
                                    {"hone version", t.hone_version},
                                    {"codegen version", t.codegen_version}}));
  if (t.machine)
    HONE_RETURN_IF_ERROR(check_texts({{"governor", t.machine->governor}, {"throttled", t.machine->throttled}}));
  HONE_RETURN_IF_ERROR(validate(t));
  if (t.times.size() > kMostTimes)
    return absl::InvalidArgumentError(fmt::format("{} times, at most {} are allowed", t.times.size(), kMostTimes));
  if (t.features && t.features->size() > kMostFeatureBytes)
    return absl::InvalidArgumentError(
        fmt::format("features of {} bytes, at most {} are allowed", t.features->size(), kMostFeatureBytes));
  if (t.seconds && t.times.empty()) return absl::InvalidArgumentError("seconds without times");
  if (t.seconds) {
    const auto [least, most] = std::minmax_element(t.times.begin(), t.times.end());
    if (*t.seconds < *least * (1 - 1e-9) || *t.seconds > *most * (1 + 1e-9))
      return absl::InvalidArgumentError(fmt::format("seconds {} are not among the times", *t.seconds));
  }
  HONE_RETURN_IF_ERROR(check_workload(t.workload));
  HONE_RETURN_IF_ERROR(check_target(t.target));
  return check_config_in_space(t.config, t.space);
}

Status check_foreign(const BestRow& b) {
  HONE_RETURN_IF_ERROR(check_texts({{"workload", b.workload},
                                    {"target", b.target},
                                    {"in layout", b.in_layout},
                                    {"out layout", b.out_layout},
                                    {"space", b.space},
                                    {"template", b.template_name},
                                    {"config", b.config},
                                    {"device", b.device},
                                    {"device_model", b.device_model},
                                    {"profile", b.profile},
                                    {"missing", b.missing},
                                    {"hone version", b.hone_version},
                                    {"codegen version", b.codegen_version},
                                    {"module_hash", b.module_hash},
                                    {"session", b.session}}));
  if (b.machine)
    HONE_RETURN_IF_ERROR(check_texts({{"governor", b.machine->governor}, {"throttled", b.machine->throttled}}));
  const auto bad = [](std::string why) { return absl::InvalidArgumentError("best: " + why); };
  if (b.session.empty()) return bad("session is empty");
  if (b.seq < 0 || b.candidate < 0) return bad("seq and candidate must be at least 0");
  if (!believable(b.seconds))
    return bad(fmt::format("seconds {} are not from {} to {}", b.seconds, kLeastSeconds, kMostSeconds));
  if (b.default_seconds && !(b.disturbed && b.confirmed && believable(*b.default_seconds)))
    return bad("only one that is confirmed and disturbed may hold the default's seconds, a time that can be believed");
  if (!(b.spread >= 0 && b.spread <= kMostSeconds / kLeastSeconds))
    return bad(fmt::format("spread {} is none", b.spread));
  if (!(b.sentinel >= 0 && b.sentinel <= kMostSeconds)) return bad(fmt::format("sentinel {} is no time", b.sentinel));
  HONE_RETURN_IF_ERROR(check_date("updated_at", b.updated_at));
  HONE_RETURN_IF_ERROR(check_workload(b.workload));
  HONE_RETURN_IF_ERROR(check_target(b.target));
  return check_config_in_space(b.config, b.space);
}

Status check_foreign(const SessionRow& s) {
  HONE_RETURN_IF_ERROR(check_texts({{"session", s.uuid},
                                    {"workload", s.workload},
                                    {"target", s.target},
                                    {"space", s.space},
                                    {"searcher", s.searcher},
                                    {"state", s.state}}));
  // Empty ones stand for several.
  if (!s.workload.empty()) HONE_RETURN_IF_ERROR(check_workload(s.workload));
  if (!s.target.empty()) HONE_RETURN_IF_ERROR(check_target(s.target));
  if (!s.space.empty()) HONE_RETURN_IF_ERROR(parse_space_key(s.space).status());
  HONE_RETURN_IF_ERROR(check_date("started", s.started));
  return s.ended ? check_date("ended", *s.ended) : absl::OkStatus();
}

Status check_foreign(const PriorRow& p) {
  HONE_RETURN_IF_ERROR(
      check_texts({{"target_kind", p.target_kind}, {"schema", p.schema}, {"hone version", p.hone_version}}));
  return validate(p);
}

Status check_foreign(const ChoiceRow& c) {
  HONE_RETURN_IF_ERROR(check_texts({{"workload", c.workload},
                                    {"target", c.target},
                                    {"space", c.space},
                                    {"config", c.config},
                                    {"instead_of", c.instead_of}}));
  HONE_RETURN_IF_ERROR(validate(c));
  HONE_RETURN_IF_ERROR(check_workload(c.workload));
  HONE_RETURN_IF_ERROR(check_target(c.target));
  HONE_RETURN_IF_ERROR(check_config(c.config));
  return check_config_in_space(c.instead_of, c.space);
}

Status check_foreign_key(const std::string& workload, const std::string& target) {
  HONE_RETURN_IF_ERROR(check_texts({{"workload", workload}, {"target", target}}));
  HONE_RETURN_IF_ERROR(check_workload(workload));
  return check_target(target);
}

Status check_foreign(const DefinitionRow& d) { return validate(d); }

Status check_foreign(const ForeignRow& r) {
  HONE_RETURN_IF_ERROR(check_texts({{"source", r.source},
                                    {"template", r.template_name},
                                    {"arguments", r.arguments},
                                    {"target", r.target},
                                    {"config", r.config},
                                    {"status", r.status},
                                    {"workload", r.workload},
                                    {"reason", r.reason}}));
  if (!r.workload.empty()) HONE_RETURN_IF_ERROR(check_workload(r.workload));
  return validate(r);
}

}  // namespace hone::db
