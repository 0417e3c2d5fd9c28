#include "db/record_lines.h"

#include <fmt/format.h>

#include <ostream>
#include <sstream>

#include "base/json.h"
#include "db/plausible.h"
#include "db/row_json.h"

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

// Checked here, while the line's number is known.
template <class Row>
StatusOr<Record> checked(Row row) {
  HONE_RETURN_IF_ERROR(check_foreign(row));
  return Record(std::move(row));
}

StatusOr<Record> record_of(const Json& json, const ImportParts& parts) {
  if (json.contains("trial")) return checked(trial_of(json));
  if (json.contains("session")) return checked(session_of(json));
  if (json.contains("choice")) return checked(choice_of(json));
  if (json.contains("definition")) return checked(definition_of(json));
  if (!json.contains("prior"))
    return absl::InvalidArgumentError("expected a session, a trial, a choice, a definition or a prior");
  PriorRow prior = prior_of(json);
  HONE_RETURN_IF_ERROR(check_prior_row(prior, parts.check_prior));
  return Record(std::move(prior));
}

bool left_out(const std::string& line, const ImportParts& parts) {
  const auto begins = [&](std::string_view prefix) { return line.compare(0, prefix.size(), prefix) == 0; };
  return (!parts.priors && begins(kPriorPrefix)) ||
         (!parts.trials &&
          (begins(kTrialPrefix) || begins(kSessionPrefix) || begins(kChoicePrefix) || begins(kDefinitionPrefix)));
}

// Messages come from compilers and kernels: bytes that are no UTF-8 must not stop an export.
template <class Row>
std::string line_of(const Row& row) {
  return json_line(to_json(row)) + '\n';
}

// One line; nothing where it is the header.
StatusOr<std::optional<Record>> read_line(const std::string& line, bool header, const ImportParts& parts) {
  try {
    const Json json = Json::parse(line);
    if (!json.is_object()) return absl::InvalidArgumentError("not a JSON object");
    if (!header) {
      HONE_RETURN_IF_ERROR(check_header(json));
      return std::nullopt;
    }
    HONE_ASSIGN_OR_RETURN(Record record, record_of(json, parts));
    return std::optional(std::move(record));
  } catch (const std::exception& e) {
    return header ? absl::InvalidArgumentError(plain_json_error(e.what())) : check_header(Json::object());
  }
}

}  // namespace

Status check_prior_row(const PriorRow& prior, const PriorCheck& check_prior) {
  HONE_RETURN_IF_ERROR(check_foreign(prior));
  const Status model = check_prior ? check_prior(prior) : absl::OkStatus();
  return model.ok() ? model : absl::InvalidArgumentError(fmt::format("prior: {}", message_of(model)));
}

std::string header_line(const RecordKinds& kinds) {
  const int format = kinds.definitions ? kFormatWithDefinitions
                     : kinds.choices   ? kFormatWithChoices
                     : kinds.disturbed ? kFormatWithDisturbed
                     : kinds.priors    ? kFormatWithPriors
                                       : kFormat;
  return json_line(OrderedJson{{"hone_tophub", format}}) + '\n';
}

std::string record_line(const SessionRow& session) { return line_of(session); }
std::string record_line(const TrialRow& trial) { return line_of(trial); }
std::string record_line(const ChoiceRow& choice) { return line_of(choice); }
std::string record_line(const DefinitionRow& definition) { return line_of(definition); }
std::string record_line(const PriorRow& prior) { return line_of(prior); }

void note_kinds(const RecordSet& records, RecordKinds& kinds) {
  kinds.choices |= !records.choices.empty();
  kinds.definitions |= !records.definitions.empty();
  kinds.priors |= !records.priors.empty();
  for (const TrialRow& trial : records.trials) kinds.disturbed |= trial.disturbed;
}

void write_record_lines(const RecordSet& records, std::ostream& out) {
  for (const SessionRow& session : records.sessions) out << record_line(session);
  for (const TrialRow& trial : records.trials) out << record_line(trial);
  for (const ChoiceRow& choice : records.choices) out << record_line(choice);
  for (const DefinitionRow& definition : records.definitions) out << record_line(definition);
  for (const PriorRow& prior : records.priors) out << record_line(prior);
}

void write_records(const RecordSet& records, std::ostream& out) {
  RecordKinds kinds;
  note_kinds(records, kinds);
  out << header_line(kinds);
  write_record_lines(records, out);
}

Status read_records(LineReader& lines, const std::string& name, const ImportParts& parts,
                    const std::function<Status(Record)>& visit) {
  const auto bad = [&](const Status& why) {
    return absl::InvalidArgumentError(fmt::format("{} line {}: {}", name, lines.number(), message_of(why)));
  };
  bool header = false;
  for (std::string line; lines.next(&line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos || (header && left_out(line, parts))) continue;
    StatusOr<std::optional<Record>> record = read_line(line, header, parts);
    header = true;
    Status status = record.status();
    if (status.ok() && *record) status = visit(**std::move(record));
    if (absl::IsInvalidArgument(status)) return bad(status);
    HONE_RETURN_IF_ERROR(status);
  }
  if (!lines.status().ok()) return bad(lines.status());
  return header ? absl::OkStatus() : absl::InvalidArgumentError(fmt::format("{}: the file is empty", name));
}

namespace {

struct Sorter {
  RecordSet& out;
  void operator()(SessionRow&& row) { out.sessions.push_back(std::move(row)); }
  void operator()(TrialRow&& row) { out.trials.push_back(std::move(row)); }
  void operator()(ChoiceRow&& row) { out.choices.push_back(std::move(row)); }
  void operator()(DefinitionRow&& row) { out.definitions.push_back(std::move(row)); }
  void operator()(PriorRow&& row) { out.priors.push_back(std::move(row)); }
};

}  // namespace

void add_record(Record record, RecordSet& to) { std::visit(Sorter{to}, std::move(record)); }

StatusOr<RecordSet> parse_records(const std::string& text, const std::string& name, const ImportParts& parts) {
  std::istringstream in(text);
  LineReader lines(in);
  RecordSet out;
  HONE_RETURN_IF_ERROR(read_records(lines, name, parts, [&](Record record) {
    add_record(std::move(record), out);
    return absl::OkStatus();
  }));
  return out;
}

}  // namespace hone::db
