// Writes the records that a program still has in memory when its database is lost.
#pragma once

#include <string>

#include "db/exchange.h"

namespace hone::db {

/// Writes `records` as a file of export_records() beside the database at `db_path`, under a name that does not exist
/// yet: `DB.rescued.jsonl`, `DB.rescued-2.jsonl`, ... The name; or a database error that says why there is no such
/// file.
StatusOr<std::string> rescue(const std::string& db_path, const RecordSet& records);

}  // namespace hone::db
