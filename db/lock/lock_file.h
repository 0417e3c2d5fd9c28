// hone.lock: what a build took, so that `--locked` builds the same bytes again and `tophub diff` tells two apart.
//
// The file is JSON in canonical form: members in a fixed order, lists sorted, one member a line, and a checksum at its
// end. Any other text of the same content is refused: it was edited or damaged (docs/lock.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "db/rows.h"

namespace hone::db {

/// A config that a build took for a workload on a target.
struct LockedConfig {
  std::string workload, target;       ///< canonical; of the build
  std::string space;                  ///< fingerprint, hex
  std::string config;                 ///< canonical
  std::string source;                 ///< the phrase that says where it is from, as it stands in a model's description
  std::string confidence;             ///< its word: confirmed, trusted, elsewhere, nearest, default, given
  bool is_choice = false;             ///< chosen inside a model, in place of the best
  std::string record;                 ///< record_digest(); empty: a default, or given
  std::string in_layout, out_layout;  ///< of the record

  bool operator==(const LockedConfig&) const = default;
};

/// A measured time by which a pass decided what is built.
struct LockedTime {
  std::string workload, target;
  double seconds = 0;

  bool operator==(const LockedTime&) const = default;
};

struct LockFile {
  std::string hone_version, codegen_version;
  std::string device_code;                      ///< the compiler of a GPU's code; empty: none
  std::string target, host;                     ///< canonical; `host` calls a GPU's code, else empty
  std::vector<std::string> options;             ///< that change the artifact: `--bind batch=4`, sorted
  std::map<std::string, std::string> inputs;    ///< SHA-256 of files that were read: `model`, `--bind-data axes`
  std::vector<LockedConfig> configs;            ///< by workload and target
  std::vector<LockedTime> times;                ///< by workload and target
  std::map<std::string, std::string> artifact;  ///< SHA-256 of files that were made, by their names without folders

  bool operator==(const LockFile&) const = default;
};

/// SHA-256, hex, of what identifies a record and matters of it: the JSON array of its session, number and candidate
/// (the trial), workload, target, space, layouts, template and revision, config and seconds. Dates, machines and
/// repeats are left out: importing settles dates, and older files lack the others.
std::string record_digest(const BestRow& row);

/// The canonical text.
std::string to_text(const LockFile& lock);
/// InvalidArgument, `NAME: why`, one line, for all that to_text() does not write.
StatusOr<LockFile> parse_lock(std::string_view text, const std::string& name);
/// The same of a plain file of at most kMostLockBytes.
StatusOr<LockFile> read_lock(const std::string& path);

inline constexpr int64_t kMostLockBytes = int64_t{64} << 20;
inline constexpr size_t kMostLocked = 100'000;  ///< entries of a list

/// The differences, one line each, layer by layer; none where nothing does.
std::vector<std::string> differences(const LockFile& a, const LockFile& b);

}  // namespace hone::db
