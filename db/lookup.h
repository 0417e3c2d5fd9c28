// The lookup chain: where a build looks for the best config, and what it accepts in its place.
//
// Sources, in order: the --db file, the user's tophub, the team's, packages that the user pulled, installed packages
// (*.db; both opened immutable), packages shipped with the source (*.jsonl). Steps, in order, each over all sources:
// the exact workload and target; the same workload for another target of the same kind; the nearest workload. An answer
// says which source and which step it came from, and how much it may be relied upon. Rows of later versions, whose
// configs are no template's (docs/keys.md), are passed over.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/chain/confidence.h"
#include "db/chain/source.h"
#include "db/rows.h"
#include "db/store.h"

namespace hone::db {

struct HubOptions {
  std::string db_file;  ///< --db; empty: none given. Must exist.
  std::string user_db;  ///< see user_db_path(); empty, missing or the same file as db_file: left out
  std::string packages_dir = "/usr/share/hone/packages";  ///< *.db; may be absent
  std::string shipped_dir;                                ///< *.jsonl; may be absent
  /// The team's tophub (remote_source()), which several chains of a program share; null: none.
  std::shared_ptr<Source> team = nullptr;
  /// Rows of less are not taken; answers say so.
  Confidence least = Confidence::kDefault;
  std::string user_packages_dir;  ///< as installed_packages() reads it; may be absent
};

/// The folder of packages that the user pulled: $XDG_DATA_HOME/hone/packages, else $HOME/.local/share/hone/packages.
std::string user_packages_dir();
/// The databases of packages in such a folder, sorted, of each source the newest: SOURCE.NUMBER/records.db, SOURCE
/// being 16 hexadecimal digits (db/package/pull.h). Other names are passed over.
std::vector<std::string> installed_packages(const std::string& folder);

/// The usual chain: `db_file` (--db, may be empty), the user's tophub, the team's (may be null), packages that were
/// pulled or installed, those shipped: beside the program in ../share/hone/packages.
HubOptions usual_hub(const std::string& db_file, std::shared_ptr<Source> team = nullptr);

enum class LookupStep { kExact, kOtherTarget, kNearest };

/// A row that a lookup came across, and its fate there.
struct Candidate {
  std::string source, owner;  ///< path or URL; of a team's tophub who brought it, else empty
  BestRow row;
  LookupStep step = LookupStep::kExact;
  Confidence confidence = Confidence::kDefault;
  bool is_taken = false;
  std::string why_not;  ///< one line; empty: it is taken
};

struct LookupQuery {
  std::string workload, target;                      ///< canonical
  std::optional<std::string> in_layout, out_layout;  ///< not given: the best over all layouts
  /// Rows it refuses (e.g. of another space fingerprint) are skipped and counted; empty: every row is taken.
  std::function<bool(const BestRow&)> accept;
  /// For a layer of a model: where there is a ChoiceRow about the best, its config is taken, if accepted.
  bool in_model = false;
  /// Given the other targets of the kind that a workload is known for, the ones worth trying, nearest first; `step`:
  /// whether that workload is the query's own (kOtherTarget) or another one (kNearest). Empty: all, by the fields that
  /// they have in common.
  std::function<std::vector<std::string>(const std::vector<std::string>& targets, LookupStep step)> rank_targets;
  /// Given the known workloads of the same task and target kind (sorted; without the query's own), the ones worth
  /// trying, nearest first. Empty: the step is left out. Asked only when the other steps found nothing.
  std::function<std::vector<std::string>(const std::vector<std::string>& known)> rank_nearest;

  /// Rows of a team's tophub count only where their owner is trusted.
  bool no_strangers = false;
  /// Sees each candidate in the order of the chain. With it the lookup goes on behind the row that it takes, to the
  /// end, and comes to the same answer as without it.
  std::function<void(const Candidate&)> observe;
  /// For `observe`: why accept() turned a row down; why rank_targets or rank_nearest left a target or a workload out.
  /// Empty: in general words.
  std::function<std::string(const BestRow&)> why_refused;
  std::function<std::string(const std::string& target, LookupStep step)> why_not_target;
  std::function<std::string(const std::string& workload)> why_not_near;
};

struct LookupAnswer {
  std::optional<BestRow> row;  ///< null: nothing known, use the template's default
  bool is_choice = false;      ///< its config is that of a ChoiceRow; all else is of the best
  LookupStep step = LookupStep::kExact;
  std::string source;  ///< path of the file the row is from, or URL
  std::string owner;   ///< who brought it to a team's tophub; empty: it is from a file, or a port that is open
  Confidence confidence = Confidence::kDefault;
  /// The first row that would have been taken but for HubOptions::least: its confidence, and describe() of it.
  Confidence held_back_confidence = Confidence::kDefault;
  std::string held_back;       ///< empty: there was none
  int64_t refused = 0;         ///< rows that accept() turned down before
  std::string refused_spaces;  ///< their fingerprints, comma-separated, each once

  /// One phrase: `best (exact workload, confirmed, device znver5) from PATH`, `best (same workload, other target: ...)
  /// from PATH`, `nearest (WORKLOAD, ...) from PATH`, `default`; of a choice ", another one chosen inside a model"
  /// before the ")". Without control characters.
  std::string describe() const;
};

struct PriorAnswer {
  std::optional<PriorRow> row;       ///< null: there is none
  std::string source;                ///< path of the file it is from, or URL
  std::vector<std::string> skipped;  ///< names of the sources before it that have one of another feature schema
};

class TopHub {
 public:
  /// Opens the first source (db_file or, without one, user_db); its errors are errors. The others are opened when first
  /// needed; a source that cannot be read is skipped with one logged warning.
  static StatusOr<std::unique_ptr<TopHub>> open(const HubOptions& options);
  ~TopHub();

  StatusOr<LookupAnswer> best(const LookupQuery& query);
  /// Before the lookups of a model: asks a team's tophub for all of its keys with one request. Lookups ask for what is
  /// not known by then, each by itself. Errors are the user's to mend (no permission there).
  Status prefetch(const std::vector<TeamKey>& keys);
  /// The first prior of this target kind and feature schema, source by source.
  StatusOr<PriorAnswer> prior(const std::string& target_kind, const std::string& schema);
  /// Workloads of `task` ("conv2d") with a best for any target of `target_kind`, over all sources, sorted, each once.
  StatusOr<std::vector<std::string>> workloads(const std::string& task, const std::string& target_kind);
  /// Paths and URLs of the sources, in order.
  std::vector<std::string> sources() const;

 private:
  class Lookup;
  struct Link {
    std::shared_ptr<Source> source;
    bool is_team = false;
    bool is_broken = false;
  };
  TopHub() = default;
  // Calls `ask` with each source that can be read, in order, until it answers true. True: it did.
  StatusOr<bool> any_source(const std::function<StatusOr<bool>(Link&)>& ask);

  std::vector<Link> links_;
  bool is_first_a_file_ = false;  // its errors are the caller's; other sources are only left out
  Confidence least_ = Confidence::kDefault;
};

}  // namespace hone::db
