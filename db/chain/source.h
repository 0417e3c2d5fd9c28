// A source of the lookup chain: a file of the user's, a package, or a team's tophub.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "db/rows.h"
#include "db/team/team_rows.h"

namespace hone::db {

/// Whose word a row is.
enum class Trust : uint8_t {
  kElsewhere,  ///< somebody else's
  kTrusted,    ///< of a tenant that the reader trusts, or of a signed package
  kHere,       ///< of a session that ran on this very file
};

/// Takes a best, which it may move from, and who brought it to a team's tophub (empty: it is from a file). True:
/// enough.
using VisitBest = std::function<bool(BestRow& row, std::string_view owner)>;

/// A choice, and whose word it is.
struct FoundChoice {
  ChoiceRow row;
  Trust trust = Trust::kElsewhere;
};

/// One thread at a time. Errors are one line.
class Source {
 public:
  virtual ~Source() = default;

  /// For people: the path or URL that its rows are from.
  virtual std::string name() const = 0;
  /// Opens it, where that is still to do. Other functions do so when they are first called.
  virtual Status open() = 0;
  /// Learns what the lookups of these keys need, with one request at most. Sources that are files do nothing. Errors
  /// are the user's to mend (no permission); a source that does not answer has nothing.
  virtual Status prefetch(const std::vector<TeamKey>& keys) = 0;

  /// Passes the bests of exactly (workload, target), the first choice first; layouts are free unless given.
  virtual Status visit(const std::string& workload, const std::string& target,
                       const std::optional<std::string>& in_layout, const std::optional<std::string>& out_layout,
                       const VisitBest& visit) = 0;
  /// Whose word a row is that visit() passed.
  virtual StatusOr<Trust> trust(const BestRow& row, std::string_view owner) = 0;
  /// Other targets of the kind of `target` that have a best for `workload`.
  virtual StatusOr<std::vector<std::string>> other_targets(const std::string& workload, const std::string& target) = 0;
  /// Workloads of `task` with a best for any target of `target_kind`, sorted. A team's tophub has those that it named
  /// as near the keys that were asked for.
  virtual StatusOr<std::vector<std::string>> workloads(const std::string& task, const std::string& target_kind) = 0;
  /// The choice that stands beside `best`, which `owner` brought to `best_from`.
  virtual StatusOr<std::optional<FoundChoice>> choice(const BestRow& best, std::string_view owner,
                                                      const Source& best_from) = 0;
  virtual StatusOr<std::optional<PriorRow>> prior(const std::string& target_kind, const std::string& schema) = 0;
  /// Whether it has a prior of the kind, of any feature schema.
  virtual StatusOr<bool> has_prior(const std::string& target_kind) = 0;
};

}  // namespace hone::db
