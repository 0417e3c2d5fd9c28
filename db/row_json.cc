#include "db/row_json.h"

#include <absl/strings/escaping.h>

#include <stdexcept>

#include "base/text.h"

namespace hone::db {

// The library would take 1e30 for another number.
void get_whole(const Json& j, int64_t& out) {
  const bool fits = j.is_number_integer() && (!j.is_number_unsigned() || j.get<uint64_t>() <= uint64_t{INT64_MAX});
  if (!fits) throw std::invalid_argument("'" + clean_line(json_line(j), 40) + "' is no whole number of 64 bits");
  out = j.get<int64_t>();
}

OrderedJson to_json(const SessionRow& s) {
  return {{"session", s.uuid},      {"workload", s.workload},
          {"target", s.target},     {"space", s.space},
          {"searcher", s.searcher}, {"seed", s.seed},
          {"started", s.started},   {"ended", s.ended ? OrderedJson(*s.ended) : OrderedJson()},
          {"state", s.state}};
}

OrderedJson to_json(const std::optional<double>& x) { return x ? OrderedJson(*x) : OrderedJson(); }

OrderedJson to_json(const MachineState& m) {
  return {{"governor", m.governor},
          {"temperature_c", {to_json(m.temperature_before_c), to_json(m.temperature_after_c)}},
          {"clock_mhz", {to_json(m.clock_before_mhz), to_json(m.clock_after_mhz)}},
          {"throttled", m.throttled}};
}

OrderedJson to_json(const TrialRow& t) {
  const PhaseSeconds& p = t.phases;
  OrderedJson json = {{"trial", {t.session, t.seq, t.candidate}},
                      {"workload", t.workload},
                      {"target", t.target},
                      {"space", t.space},
                      {"template", t.template_name},
                      {"revision", t.template_revision},
                      {"config", t.config},
                      {"layouts", {t.in_layout, t.out_layout}},
                      {"module_hash", t.module_hash},
                      {"status", t.status},
                      {"message", clean_line(t.message)},
                      {"times", t.times},
                      {"seconds", t.seconds ? OrderedJson(*t.seconds) : OrderedJson()},
                      {"censored", t.censored},
                      {"confirmed", t.confirmed},
                      {"rel_error", t.rel_error},
                      {"max_error", t.max_error},
                      {"phases", {p.queue, p.transfer, p.build, p.check, p.run, p.reference}},
                      {"device", t.device},
                      {"device_model", t.device_model},
                      {"profile", t.profile},
                      {"versions", {t.hone_version, t.codegen_version}},
                      {"sentinel", {t.sentinel_before, t.sentinel_after}},
                      {"created_at", t.created_at}};
  if (!t.missing.empty()) json["missing"] = t.missing;
  if (t.disturbed)
    json["disturbed"] = {{"default_seconds", t.default_seconds ? OrderedJson(*t.default_seconds) : OrderedJson()}};
  if (t.machine) json["machine"] = to_json(*t.machine);
  if (t.features) json["features"] = absl::Base64Escape(*t.features);
  return json;
}

OrderedJson to_json(const PriorRow& p) {
  return {{"prior", {p.target_kind, p.schema}},
          {"hone", p.hone_version},
          {"created_at", p.created_at},
          {"groups", p.groups},
          {"trials", p.trials},
          {"held_out", p.held_out},
          {"accuracy", {to_json(p.pairwise), to_json(p.peak1), to_json(p.peak5)}},
          {"model", absl::Base64Escape(p.model)}};
}

OrderedJson to_json(const ChoiceRow& c) {
  return {{"choice", {c.workload, c.target, c.space}},
          {"config", c.config},
          {"instead_of", c.instead_of},
          {"seconds", {c.seconds, c.instead_seconds}},
          {"created_at", c.created_at}};
}

OrderedJson to_json(const DefinitionRow& d) { return {{"definition", {d.hash, d.kind}}, {"text", d.text}}; }

SessionRow session_of(const Json& j) {
  SessionRow s;
  j.at("session").get_to(s.uuid);
  j.at("workload").get_to(s.workload);
  j.at("target").get_to(s.target);
  j.at("space").get_to(s.space);
  j.at("searcher").get_to(s.searcher);
  get_whole(j.at("seed"), s.seed);
  get_whole(j.at("started"), s.started);
  if (const Json& ended = j.at("ended"); !ended.is_null()) get_whole(ended, s.ended.emplace());
  j.at("state").get_to(s.state);
  return s;
}

MachineState machine_of(const Json& j) {
  MachineState m;
  const auto reading = [](const Json& x) { return x.is_null() ? std::nullopt : std::optional(x.get<double>()); };
  j.at("governor").get_to(m.governor);
  const Json &temperature = j.at("temperature_c"), &clock = j.at("clock_mhz");
  m.temperature_before_c = reading(temperature.at(0)), m.temperature_after_c = reading(temperature.at(1));
  m.clock_before_mhz = reading(clock.at(0)), m.clock_after_mhz = reading(clock.at(1));
  j.at("throttled").get_to(m.throttled);
  return m;
}

TrialRow trial_of(const Json& j) {
  TrialRow t;
  const Json& id = j.at("trial");
  id.at(0).get_to(t.session), get_whole(id.at(1), t.seq), get_whole(id.at(2), t.candidate);
  j.at("workload").get_to(t.workload);
  j.at("target").get_to(t.target);
  j.at("space").get_to(t.space);
  j.at("template").get_to(t.template_name);
  get_whole(j.at("revision"), t.template_revision);
  j.at("config").get_to(t.config);
  j.at("layouts").at(0).get_to(t.in_layout), j.at("layouts").at(1).get_to(t.out_layout);
  j.at("module_hash").get_to(t.module_hash);
  j.at("status").get_to(t.status);
  j.at("message").get_to(t.message);
  j.at("times").get_to(t.times);
  if (const Json& seconds = j.at("seconds"); !seconds.is_null()) t.seconds = seconds.get<double>();
  j.at("censored").get_to(t.censored);
  j.at("confirmed").get_to(t.confirmed);
  j.at("rel_error").get_to(t.rel_error);
  j.at("max_error").get_to(t.max_error);
  int at = 0;
  for (double* phase :
       {&t.phases.queue, &t.phases.transfer, &t.phases.build, &t.phases.check, &t.phases.run, &t.phases.reference})
    j.at("phases").at(at++).get_to(*phase);
  j.at("device").get_to(t.device);
  j.at("device_model").get_to(t.device_model);
  j.at("profile").get_to(t.profile);
  j.at("versions").at(0).get_to(t.hone_version), j.at("versions").at(1).get_to(t.codegen_version);
  j.at("sentinel").at(0).get_to(t.sentinel_before), j.at("sentinel").at(1).get_to(t.sentinel_after);
  get_whole(j.at("created_at"), t.created_at);
  if (j.contains("missing")) j.at("missing").get_to(t.missing);
  if (j.contains("disturbed")) {
    t.disturbed = true;
    if (const Json& seconds = j.at("disturbed").at("default_seconds"); !seconds.is_null())
      t.default_seconds = seconds.get<double>();
  }
  if (j.contains("machine")) t.machine = machine_of(j.at("machine"));
  if (j.contains("features")) {
    std::string bytes;
    if (!absl::Base64Unescape(j.at("features").get<std::string>(), &bytes))
      throw std::invalid_argument("features are not base64");
    t.features = std::move(bytes);
  }
  return t;
}

PriorRow prior_of(const Json& j) {
  PriorRow p;
  j.at("prior").at(0).get_to(p.target_kind), j.at("prior").at(1).get_to(p.schema);
  j.at("hone").get_to(p.hone_version);
  get_whole(j.at("created_at"), p.created_at);
  get_whole(j.at("groups"), p.groups);
  get_whole(j.at("trials"), p.trials);
  get_whole(j.at("held_out"), p.held_out);
  int at = 0;
  for (std::optional<double>* share : {&p.pairwise, &p.peak1, &p.peak5})
    if (const Json& x = j.at("accuracy").at(at++); !x.is_null()) *share = x.get<double>();
  if (!absl::Base64Unescape(j.at("model").get_ref<const std::string&>(), &p.model))
    throw std::invalid_argument("the model is not base64");
  return p;
}

ChoiceRow choice_of(const Json& j) {
  ChoiceRow c;
  const Json& key = j.at("choice");
  key.at(0).get_to(c.workload), key.at(1).get_to(c.target), key.at(2).get_to(c.space);
  j.at("config").get_to(c.config);
  j.at("instead_of").get_to(c.instead_of);
  j.at("seconds").at(0).get_to(c.seconds), j.at("seconds").at(1).get_to(c.instead_seconds);
  get_whole(j.at("created_at"), c.created_at);
  return c;
}

DefinitionRow definition_of(const Json& j) {
  DefinitionRow d;
  j.at("definition").at(0).get_to(d.hash), j.at("definition").at(1).get_to(d.kind);
  j.at("text").get_to(d.text);
  return d;
}

std::string plain_json_error(const std::string& what) {
  const size_t end = what.find("] ");
  return !what.empty() && what[0] == '[' && end != std::string::npos ? what.substr(end + 2) : what;
}

}  // namespace hone::db
