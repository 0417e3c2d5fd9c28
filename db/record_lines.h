// The lines of an export, written and read without a store: exchange.h says what a file is.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <variant>

#include "base/status.h"
#include "db/line_reader.h"
#include "db/rows.h"

namespace hone::db {

/// Why a prior's model is refused, as one line; the cost model decides.
using PriorCheck = std::function<Status(const PriorRow&)>;

/// Which parts of a file are read; others are not even parsed.
struct ImportParts {
  bool trials = true;  ///< and their sessions, choices and definitions
  bool priors = true;
  PriorCheck check_prior = nullptr;  ///< empty: models are taken unseen (and checked when they are loaded)
  int64_t now_ms = 0;                ///< later dates are taken as this one; 0: this machine's clock
};

/// check_foreign(), and what the cost model says. InvalidArgument.
Status check_prior_row(const PriorRow& prior, const PriorCheck& check_prior);

/// One line of a file.
using Record = std::variant<SessionRow, TrialRow, ChoiceRow, DefinitionRow, PriorRow>;

/// Kinds of records that a file holds, beside sessions and quiet trials: they decide on its format.
struct RecordKinds {
  bool disturbed = false, choices = false, definitions = false, priors = false;
};

/// The first line of a file, and one line of each kind; each with its line feed.
std::string header_line(const RecordKinds& kinds);
std::string record_line(const SessionRow& session);
std::string record_line(const TrialRow& trial);
std::string record_line(const ChoiceRow& choice);
std::string record_line(const DefinitionRow& definition);
std::string record_line(const PriorRow& prior);

/// Adds the kind of a record.
inline void note_kind(const SessionRow&, RecordKinds&) {}
inline void note_kind(const TrialRow& trial, RecordKinds& kinds) { kinds.disturbed |= trial.disturbed; }
inline void note_kind(const ChoiceRow&, RecordKinds& kinds) { kinds.choices = true; }
inline void note_kind(const DefinitionRow&, RecordKinds& kinds) { kinds.definitions = true; }
inline void note_kind(const PriorRow&, RecordKinds& kinds) { kinds.priors = true; }
/// The same of `records`.
void note_kinds(const RecordSet& records, RecordKinds& kinds);
/// The lines of `records` in their order, without a header.
void write_record_lines(const RecordSet& records, std::ostream& out);
/// Writes a file that holds `records`, in their order.
void write_records(const RecordSet& records, std::ostream& out);

/// Gives each record of a file to `visit`, in order, after check_foreign() (and check_prior) passed it. InvalidArgument
/// names the line: "NAME line 3: why", also where `visit` says so. Dates are as they were written.
Status read_records(LineReader& lines, const std::string& name, const ImportParts& parts,
                    const std::function<Status(Record)>& visit);

/// The same, all of it at once. `name` is for messages.
StatusOr<RecordSet> parse_records(const std::string& text, const std::string& name, const ImportParts& parts = {});

/// Appends it to the rows of its kind.
void add_record(Record record, RecordSet& to);

}  // namespace hone::db
