// Moving records between tophubs: JSON lines (sorted, the same bytes for the same records) and whole databases.
//
// A file is a header line {"hone_tophub":1}, then sessions, then trials, then choices, then definitions, then priors,
// one JSON object a line. Bests are not in it: they are derived from the trials. Neither are foreign records: their log
// can be imported again; nor batches: they tell how one session went, where it ran. A file that holds definitions is of
// format 5, another that holds choices of format 4, another that holds disturbed trials of format 3, another that holds
// priors of format 2.
#pragma once

#include <iosfwd>
#include <string>

#include "db/record_lines.h"
#include "db/store.h"

namespace hone::db {

struct ExchangeCount {
  int64_t sessions = 0;
  int64_t trials = 0;       ///< written, or new to this database
  int64_t duplicates = 0;   ///< trials that were there already
  int64_t choices = 0;      ///< written, or new to this database
  int64_t definitions = 0;  ///< written, or new to this database
  int64_t priors = 0;       ///< written, or new to this database
  int64_t foreign = 0;      ///< foreign records that were new, of a merge
  int64_t dated_ahead = 0;  ///< trials, choices and priors of the future, which were taken as of now
};

/// Writes every session, trial, choice, definition and prior; with `best_only`, of the trials only those that are a
/// best, their sessions, the choices that count and the definitions that are named there.
StatusOr<ExchangeCount> export_records(Store& store, std::ostream& out, bool best_only = false);

/// Reads the output of export_records; `name` is the file's name for messages. All of it or nothing: a bad line (one
/// that check_foreign() refuses among them) is a usage error with its number. Importing again changes nothing.
StatusOr<ExchangeCount> import_records(Store& store, LineReader& lines, const std::string& name,
                                       const ImportParts& parts = {});
StatusOr<ExchangeCount> import_records(Store& store, std::istream& in, const std::string& name,
                                       const ImportParts& parts = {});

/// Adds the sessions, trials, choices, definitions, priors and foreign records of `other`, without its batches: all of
/// it or nothing, a row that check_foreign() or `check_prior` refuses is a usage error. Merging again changes nothing.
StatusOr<ExchangeCount> merge_records(Store& store, Store& other, const PriorCheck& check_prior = nullptr);

}  // namespace hone::db
