// The lookup chain: where a build looks for the best config, and what it accepts in its place.
//
// Sources, in order: the --db file, the user's tophub, packages that the user pulled, installed packages (*.db; both
// opened immutable), packages shipped with the source (*.jsonl). Steps, in order, each over all sources: the exact
// workload and target; the same workload for another target of the same kind; the nearest workload. An answer says
// which source and which step it came from. Rows of later versions, whose configs are no template's (docs/keys.md), are
// passed over.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/rows.h"
#include "db/store.h"

namespace hone::db {

struct HubOptions {
  std::string db_file;  ///< --db; empty: none given. Must exist.
  std::string user_db;  ///< see user_db_path(); empty, missing or the same file as db_file: left out
  std::string packages_dir = "/usr/share/hone/packages";  ///< *.db; may be absent
  std::string shipped_dir;                                ///< *.jsonl; may be absent
  std::string user_packages_dir;                          ///< as installed_packages() reads it; may be absent
};

/// The folder of packages that the user pulled: $XDG_DATA_HOME/hone/packages, else $HOME/.local/share/hone/packages.
std::string user_packages_dir();
/// The databases of packages in such a folder, sorted, of each source the newest: SOURCE.NUMBER/records.db, SOURCE
/// being 16 hexadecimal digits (db/package/pull.h). Other names are passed over.
std::vector<std::string> installed_packages(const std::string& folder);

/// The usual chain: `db_file` (--db, may be empty), the user's tophub, packages that were pulled or installed, those
/// shipped: beside the program in ../share/hone/packages.
HubOptions usual_hub(const std::string& db_file);

enum class LookupStep { kExact, kOtherTarget, kNearest };

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
};

struct LookupAnswer {
  std::optional<BestRow> row;  ///< null: nothing known, use the template's default
  bool is_choice = false;      ///< its config is that of a ChoiceRow; all else is of the best
  LookupStep step = LookupStep::kExact;
  std::string source;          ///< path of the file the row is from
  int64_t refused = 0;         ///< rows that accept() turned down before
  std::string refused_spaces;  ///< their fingerprints, comma-separated, each once

  /// One phrase: `best (exact workload, confirmed, device znver5) from PATH`, `best (same workload, other target: ...)
  /// from PATH`, `nearest (WORKLOAD, ...) from PATH`, `default`; of a choice ", another one chosen inside a model"
  /// before the ")". Without control characters.
  std::string describe() const;
};

struct PriorAnswer {
  std::optional<PriorRow> row;       ///< null: there is none
  std::string source;                ///< path of the file it is from
  std::vector<std::string> skipped;  ///< paths of the sources before it that have one of another feature schema
};

class TopHub {
 public:
  /// Opens the first source (db_file or, without one, user_db); its errors are errors. The others are opened when first
  /// needed; a source that cannot be read is skipped with one logged warning.
  static StatusOr<std::unique_ptr<TopHub>> open(const HubOptions& options);
  ~TopHub();

  StatusOr<LookupAnswer> best(const LookupQuery& query);
  /// The first prior of this target kind and feature schema, source by source.
  StatusOr<PriorAnswer> prior(const std::string& target_kind, const std::string& schema);
  /// Workloads of `task` ("conv2d") with a best for any target of `target_kind`, over all sources, sorted, each once.
  StatusOr<std::vector<std::string>> workloads(const std::string& task, const std::string& target_kind);
  /// Paths of the sources, in order.
  std::vector<std::string> sources() const;

 private:
  struct Source;
  TopHub();
  enum Part { kTrials, kPriors };
  // Calls `ask` with each source that can be read and its store, in order, until it answers true. True: it did. The
  // store of a file that is read as a whole has only that part.
  StatusOr<bool> any_source(Part part, const std::function<StatusOr<bool>(Source&, Store&)>& ask);
  static StatusOr<std::unique_ptr<Store>> open_source(const Source& source, Part part);
  StatusOr<bool> try_exact(const std::string& workload, const std::string& target, const LookupQuery& query,
                           LookupAnswer& answer);
  // Puts the config of a choice in the place of the best's.
  Status apply_choice(const LookupQuery& query, LookupAnswer& answer);
  StatusOr<bool> try_other_targets(const std::string& workload, const LookupQuery& query, LookupAnswer& answer);
  std::vector<Source> sources_;
};

}  // namespace hone::db
