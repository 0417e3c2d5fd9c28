// Rows as JSON objects, as they stand on the lines of an export. Reading throws std::exception where a part is missing
// or of another type (plain_json_error() says which), and checks nothing else: plausible.h does.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "db/rows.h"

namespace hone::db {

OrderedJson to_json(const SessionRow& session);
OrderedJson to_json(const TrialRow& trial);
OrderedJson to_json(const ChoiceRow& choice);
OrderedJson to_json(const DefinitionRow& definition);
OrderedJson to_json(const PriorRow& prior);
OrderedJson to_json(const MachineState& machine);
/// null: none.
OrderedJson to_json(const std::optional<double>& number);

SessionRow session_of(const Json& json);
TrialRow trial_of(const Json& json);
ChoiceRow choice_of(const Json& json);
DefinitionRow definition_of(const Json& json);
PriorRow prior_of(const Json& json);
MachineState machine_of(const Json& json);

/// Reads a whole number; throws std::invalid_argument for a fraction, and for one that 64 bits do not hold.
void get_whole(const Json& json, int64_t& out);

/// The message of an exception of the JSON library without "[json.exception.type_error.302] ", which begins it.
std::string plain_json_error(const std::string& what);

}  // namespace hone::db
