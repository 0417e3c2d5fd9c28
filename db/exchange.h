// Moving records between tophubs: JSON lines (sorted, the same bytes for the same records) and whole databases.
//
// A file is a header line {"hone_tophub":1}, then sessions, then trials, one JSON object a line. Bests are not in it:
// they are derived from the trials.
#pragma once

#include <iosfwd>
#include <string>

#include "db/store.h"

namespace hone::db {

struct ExchangeCount {
  int64_t sessions = 0;
  int64_t trials = 0;      ///< written, or new to this database
  int64_t duplicates = 0;  ///< trials that were there already
};

/// Writes every session and trial, or, with `best_only`, the trials that are a best and their sessions.
StatusOr<ExchangeCount> export_records(Store& store, std::ostream& out, bool best_only = false);

/// Reads what export_records wrote; `name` is the file's name for messages. All of it or nothing: a bad line is a usage
/// error with its number. Importing again changes nothing.
StatusOr<ExchangeCount> import_records(Store& store, std::istream& in, const std::string& name);

/// Adds the sessions and trials of `other`. Merging again changes nothing.
StatusOr<ExchangeCount> merge_records(Store& store, Store& other);

}  // namespace hone::db
