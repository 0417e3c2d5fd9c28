#include "db/exchange.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>

#include <istream>
#include <ostream>
#include <set>

#include "base/exit_code.h"
#include "base/json.h"
#include "base/text.h"
#include "db/plausible.h"

namespace hone::db {
namespace {

// Files without priors stay readable to programs that do not know priors; files without disturbed trials to programs
// that would read a disturbed time as a quiet one; files without choices, or definitions, to programs that do not know
// these.
constexpr int kFormat = 1, kFormatWithPriors = 2, kFormatWithDisturbed = 3, kFormatWithChoices = 4,
              kFormatWithDefinitions = 5;
// How a line of each kind begins, as long as it was written here: enough to leave it out without parsing it.
constexpr std::string_view kPriorPrefix = "{\"prior\":", kTrialPrefix = "{\"trial\":", kSessionPrefix = "{\"session\":",
                           kChoicePrefix = "{\"choice\":", kDefinitionPrefix = "{\"definition\":";
constexpr size_t kBatch = 1000;  // trials held in memory at a time

// Messages come from compilers and kernels: bytes that are no UTF-8 must not stop an export.
std::string dump(const OrderedJson& json) { return json_line(json); }

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
  const auto share = [](const std::optional<double>& x) { return x ? OrderedJson(*x) : OrderedJson(); };
  return {{"prior", {p.target_kind, p.schema}},
          {"hone", p.hone_version},
          {"created_at", p.created_at},
          {"groups", p.groups},
          {"trials", p.trials},
          {"held_out", p.held_out},
          {"accuracy", {share(p.pairwise), share(p.peak1), share(p.peak5)}},
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
  j.at("seed").get_to(s.seed);
  j.at("started").get_to(s.started);
  if (const Json& ended = j.at("ended"); !ended.is_null()) s.ended = ended.get<int64_t>();
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
  id.at(0).get_to(t.session), id.at(1).get_to(t.seq), id.at(2).get_to(t.candidate);
  j.at("workload").get_to(t.workload);
  j.at("target").get_to(t.target);
  j.at("space").get_to(t.space);
  j.at("template").get_to(t.template_name);
  j.at("revision").get_to(t.template_revision);
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
  j.at("created_at").get_to(t.created_at);
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
  j.at("created_at").get_to(p.created_at);
  j.at("groups").get_to(p.groups);
  j.at("trials").get_to(p.trials);
  j.at("held_out").get_to(p.held_out);
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
  j.at("created_at").get_to(c.created_at);
  return c;
}

DefinitionRow definition_of(const Json& j) {
  DefinitionRow d;
  j.at("definition").at(0).get_to(d.hash), j.at("definition").at(1).get_to(d.kind);
  j.at("text").get_to(d.text);
  return d;
}

// nlohmann's messages begin with "[json.exception.type_error.302] ".
std::string plain(const std::string& what) {
  const size_t end = what.find("] ");
  return !what.empty() && what[0] == '[' && end != std::string::npos ? what.substr(end + 2) : what;
}

Status check_header(const Json& line) {
  if (!line.contains("hone_tophub") || !line["hone_tophub"].is_number_integer())
    return absl::InvalidArgumentError(
        "not a file of `tophub export`: its first line must begin with {\"hone_tophub\": "
        "(`tophub merge` reads databases)");
  const auto format = line["hone_tophub"].get<int64_t>();
  if (format < kFormat || format > kFormatWithDefinitions)
    return absl::InvalidArgumentError(
        fmt::format("format {} is not known (this Hone knows {} to {}); export it again, or update Hone", format,
                    kFormat, kFormatWithDefinitions));
  return absl::OkStatus();
}

// Adds rows in batches to a store, inside the caller's transaction.
class Adder {
 public:
  Adder(Store& store, int64_t now_ms) : store_(store), now_ms_(now_ms) {}
  Status add(TrialRow trial) {
    note_date(trial.created_at);
    trial.created_at = settled_date(trial.created_at, now_ms_);
    batch_.push_back(std::move(trial));
    return batch_.size() < kBatch ? absl::OkStatus() : flush();
  }
  Status flush() {
    HONE_ASSIGN_OR_RETURN(const AddResult added, store_.trials().add_in_transaction(batch_, now_ms_));
    count.trials += added.inserted;
    count.duplicates += added.duplicates;
    batch_.clear();
    return absl::OkStatus();
  }
  Status add(SessionRow session) {
    ++count.sessions;
    session.started = settled_date(session.started, now_ms_);
    if (session.ended) session.ended = settled_date(*session.ended, now_ms_);
    return store_.trials().put_session_in_transaction(session);
  }
  Status add(const ChoiceRow& choice) {
    note_date(choice.created_at);
    HONE_ASSIGN_OR_RETURN(const bool fresh, store_.choices().put_in_transaction(choice, now_ms_));
    count.choices += fresh;
    return absl::OkStatus();
  }
  Status add(const DefinitionRow& definition) {
    HONE_ASSIGN_OR_RETURN(const bool fresh, store_.definitions().put(definition));
    count.definitions += fresh;
    return absl::OkStatus();
  }
  Status add(const PriorRow& prior) {
    note_date(prior.created_at);
    HONE_ASSIGN_OR_RETURN(const bool fresh, store_.priors().put_in_transaction(prior, now_ms_));
    count.priors += fresh;
    return absl::OkStatus();
  }
  Status add(const ForeignRow& record) {
    HONE_ASSIGN_OR_RETURN(const bool fresh, store_.foreign().add_in_transaction(record, /*update_meaning=*/false));
    count.foreign += fresh;
    return absl::OkStatus();
  }
  ExchangeCount count;

 private:
  void note_date(int64_t ms) { count.dated_ahead += ms > latest_date(now_ms_); }

  Store& store_;
  const int64_t now_ms_;
  std::vector<TrialRow> batch_;
};

// Checked here, while the line's number is known.
template <class Row>
Status add_checked(Row row, Adder& adder) {
  HONE_RETURN_IF_ERROR(check_foreign(row));
  return adder.add(std::move(row));
}

Status add_prior(const PriorRow& prior, const PriorCheck& check_prior, Adder& adder) {
  HONE_RETURN_IF_ERROR(check_foreign(prior));
  if (const Status s = check_prior ? check_prior(prior) : absl::OkStatus(); !s.ok())
    return absl::InvalidArgumentError(fmt::format("prior: {}", message_of(s)));
  return adder.add(prior);
}

Status import_line(const Json& json, const ImportParts& parts, Adder& adder) {
  if (json.contains("trial")) return add_checked(trial_of(json), adder);
  if (json.contains("session")) return add_checked(session_of(json), adder);
  if (json.contains("prior")) return add_prior(prior_of(json), parts.check_prior, adder);
  if (json.contains("choice")) return add_checked(choice_of(json), adder);
  if (json.contains("definition")) return add_checked(definition_of(json), adder);
  return absl::InvalidArgumentError("expected a session, a trial, a choice, a definition or a prior");
}

bool left_out(const std::string& line, const ImportParts& parts) {
  const auto begins = [&](std::string_view prefix) { return line.compare(0, prefix.size(), prefix) == 0; };
  return (!parts.priors && begins(kPriorPrefix)) ||
         (!parts.trials &&
          (begins(kTrialPrefix) || begins(kSessionPrefix) || begins(kChoicePrefix) || begins(kDefinitionPrefix)));
}

}  // namespace

StatusOr<ExchangeCount> export_records(Store& store, std::ostream& out, bool best_only) {
  ExchangeCount count;
  // One snapshot for sessions and trials, while others may be writing.
  HONE_RETURN_IF_ERROR(store.database().execute("SAVEPOINT export"));
  const Status status = [&]() -> Status {
    std::set<std::string> wanted;
    const auto each = [&](const std::function<Status(const TrialRow&)>& visit) {
      return best_only ? store.trials().for_each_best_sorted(visit) : store.trials().for_each_sorted(visit);
    };
    if (best_only)
      HONE_RETURN_IF_ERROR(each([&](const TrialRow& t) { return wanted.insert(t.session), absl::OkStatus(); }));
    HONE_ASSIGN_OR_RETURN(const std::vector<SessionRow> sessions, store.trials().sessions());
    HONE_ASSIGN_OR_RETURN(const std::vector<ChoiceRow> choices, store.choices().list(/*in_effect=*/best_only));
    HONE_ASSIGN_OR_RETURN(const std::vector<DefinitionRow> definitions,
                          store.definitions().list(/*of_bests=*/best_only));
    HONE_ASSIGN_OR_RETURN(const std::vector<PriorRow> priors, store.priors().list());
    HONE_ASSIGN_OR_RETURN(
        const int64_t disturbed,
        store.database().query_integer(
            best_only ? "SELECT EXISTS (SELECT 1 FROM best JOIN disturbed_trials d ON d.trial = best.trial)"
                      : "SELECT EXISTS (SELECT 1 FROM disturbed_trials)"));
    out << dump({{"hone_tophub", !definitions.empty() ? kFormatWithDefinitions
                                 : !choices.empty()   ? kFormatWithChoices
                                 : disturbed != 0     ? kFormatWithDisturbed
                                 : priors.empty()     ? kFormat
                                                      : kFormatWithPriors}})
        << '\n';
    for (const SessionRow& session : sessions) {
      // 'implied' rows come back by themselves from their trials.
      if (session.state == "implied" || (best_only && !wanted.count(session.uuid))) continue;
      out << dump(to_json(session)) << '\n';
      ++count.sessions;
    }
    HONE_RETURN_IF_ERROR(each([&](const TrialRow& trial) {
      out << dump(to_json(trial)) << '\n';
      ++count.trials;
      return absl::OkStatus();
    }));
    for (const ChoiceRow& choice : choices) out << dump(to_json(choice)) << '\n';
    count.choices = static_cast<int64_t>(choices.size());
    for (const DefinitionRow& definition : definitions) out << dump(to_json(definition)) << '\n';
    count.definitions = static_cast<int64_t>(definitions.size());
    for (const PriorRow& prior : priors) out << dump(to_json(prior)) << '\n';
    count.priors = static_cast<int64_t>(priors.size());
    return absl::OkStatus();
  }();
  HONE_RETURN_IF_ERROR(store.database().execute("RELEASE export"));
  HONE_RETURN_IF_ERROR(status);
  return count;
}

void write_records(const Records& records, std::ostream& out) {
  out << dump({{"hone_tophub", records.priors.empty() ? kFormat : kFormatWithPriors}}) << '\n';
  for (const SessionRow& session : records.sessions) out << dump(to_json(session)) << '\n';
  for (const TrialRow& trial : records.trials) out << dump(to_json(trial)) << '\n';
  for (const PriorRow& prior : records.priors) out << dump(to_json(prior)) << '\n';
}

StatusOr<ExchangeCount> import_records(Store& store, std::istream& in, const std::string& name,
                                       const ImportParts& parts) {
  LineReader lines(in);
  return import_records(store, lines, name, parts);
}

StatusOr<ExchangeCount> import_records(Store& store, LineReader& lines, const std::string& name,
                                       const ImportParts& asked) {
  ImportParts parts = asked;
  if (parts.now_ms == 0) parts.now_ms = unix_ms();
  HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(store.database()));
  Adder adder(store, parts.now_ms);
  bool header = false;
  const auto bad = [&](const Status& why) {
    return usage_error(fmt::format("{} line {}: {}; nothing was imported", name, lines.number(), message_of(why)));
  };
  for (std::string line; lines.next(&line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos || (header && left_out(line, parts))) continue;
    Status status;
    try {
      const Json json = Json::parse(line);
      if (!json.is_object())
        status = absl::InvalidArgumentError("not a JSON object");
      else if (!header)
        status = check_header(json);
      else
        status = import_line(json, parts, adder);
    } catch (const std::exception& e) {
      status = header ? absl::InvalidArgumentError(plain(e.what())) : check_header(Json::object());
    }
    header = true;
    if (absl::IsInvalidArgument(status)) return bad(status);
    HONE_RETURN_IF_ERROR(status);
  }
  if (!lines.status().ok()) return bad(lines.status());
  if (!header) return usage_error(fmt::format("{}: the file is empty; nothing was imported", name));
  HONE_RETURN_IF_ERROR(adder.flush());
  HONE_RETURN_IF_ERROR(transaction.commit());
  return adder.count;
}

namespace {

// All rows of `other`; InvalidArgument: one that cannot be taken.
Status merge_rows(Store& other, const ImportParts& parts, Adder& adder) {
  HONE_ASSIGN_OR_RETURN(const std::vector<SessionRow> sessions, other.trials().sessions());
  for (const SessionRow& session : sessions) HONE_RETURN_IF_ERROR(add_checked(session, adder));
  HONE_RETURN_IF_ERROR(other.trials().for_each_sorted([&](TrialRow trial) {
    trial.message = clean_line(trial.message);
    return add_checked(std::move(trial), adder);
  }));
  HONE_RETURN_IF_ERROR(adder.flush());
  HONE_ASSIGN_OR_RETURN(const std::vector<ChoiceRow> choices, other.choices().list());
  for (const ChoiceRow& choice : choices) HONE_RETURN_IF_ERROR(add_checked(choice, adder));
  HONE_ASSIGN_OR_RETURN(const std::vector<DefinitionRow> definitions, other.definitions().list());
  for (const DefinitionRow& definition : definitions) HONE_RETURN_IF_ERROR(add_checked(definition, adder));
  HONE_ASSIGN_OR_RETURN(const std::vector<PriorRow> priors, other.priors().list());
  for (const PriorRow& prior : priors) HONE_RETURN_IF_ERROR(add_prior(prior, parts.check_prior, adder));
  HONE_ASSIGN_OR_RETURN(const std::vector<ForeignRow> foreign, other.foreign().list());
  for (const ForeignRow& record : foreign) {
    HONE_RETURN_IF_ERROR(add_checked(record, adder));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<ExchangeCount> merge_records(Store& store, Store& other, const PriorCheck& check_prior) {
  HONE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(store.database()));
  const ImportParts parts{true, true, check_prior, unix_ms()};
  Adder adder(store, parts.now_ms);
  const Status merged = merge_rows(other, parts, adder);
  if (absl::IsInvalidArgument(merged))
    return usage_error(fmt::format("{}: {}; nothing was merged", other.path(), message_of(merged)));
  HONE_RETURN_IF_ERROR(merged);
  HONE_RETURN_IF_ERROR(transaction.commit());
  return adder.count;
}

}  // namespace hone::db
