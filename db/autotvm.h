// AutoTVM's tuning logs: JSON lines {"input": [target, template, arguments, …], "config": {"entity": [[knob, kind,
// value], …]}, "result": [[seconds, …], error, …]}. Lines that begin with # are comments. The caller decides what a
// record means here.
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <string>

#include "db/line_reader.h"
#include "db/store.h"

namespace hone::db {

/// True when the first line that is neither empty nor a comment looks like one of AutoTVM's; `lines` gives it again.
bool is_autotvm_log(LineReader& lines);

/// One line of a log, without the fields that only the caller knows: source, line, workload, reason. InvalidArgument
/// says what is wrong with it.
StatusOr<ForeignRow> autotvm_record(const std::string& line);

/// The meaning of a foreign record here.
struct ForeignMeaning {
  bool known = true;     ///< false: no counterpart to its template, the record is not kept
  std::string workload;  ///< canonical; empty: none
  bool seed = false;     ///< its config has a counterpart in that workload's space on this machine
  std::string reason;    ///< a few words that many records share; when any of the above is missing
};
using ForeignMapper = std::function<ForeignMeaning(const ForeignRow&)>;

struct ForeignCount {
  int64_t records = 0;                     ///< new to this database
  int64_t duplicates = 0;                  ///< were there already
  int64_t mapped = 0;                      ///< of both, those with a workload
  int64_t seeds = 0;                       ///< of those, with a config as well
  int64_t skipped = 0;                     ///< not kept
  std::map<std::string, int64_t> reasons;  ///< reasons for skipped, not mapped and no seed, with their counts
};

/// Adds a log's records as foreign records; `name` is the file's name. All of it or nothing: a bad line is a usage
/// error with its number. Importing again adds nothing. Without `mapper` every record is kept and none is mapped.
StatusOr<ForeignCount> import_autotvm(Store& store, LineReader& lines, const std::string& name,
                                      const ForeignMapper& mapper);

}  // namespace hone::db
