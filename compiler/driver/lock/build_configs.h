// Where the configs of a build are from: the tophub, noted in a lock where one is to be written, or a lock alone.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_set.h"
#include "base/status.h"
#include "compiler/build/choose_config.h"
#include "compiler/driver/place/build_place.h"
#include "db/lock/lock_file.h"

namespace hone {

/// The input of quantised models that a lock has beside their files: the ranges of values, as --ranges writes them.
inline constexpr std::string_view kRanges = "ranges";

/// One build. Errors that name the lock say what differs, in one line.
class BuildConfigs {
 public:
  /// Opens the tophub of request.db, if the request takes configs from one; or reads request.locked, and compares what
  /// it says of versions, target, options and files with this build. All outlive it. Usage errors; those of databases.
  static StatusOr<std::unique_ptr<BuildConfigs>> open(const BuildRequest& request, const BuildPlace& place);

  /// The config that a kernel takes. The request's comes first: `default`, or one for an operator. UserError for one
  /// that is not of the space, errors of the database, and usage errors for what the lock does not have.
  StatusOr<ChosenConfig> choose(const Workload& w, const Target& target, const Space& space, ConfigUse use);
  /// As choose() for what is timed beside the artifact: it is not noted, and is the default where a lock has nothing.
  StatusOr<ChosenConfig> choose_beside(const Workload& w, const Target& target, const Space& space, ConfigUse use);
  /// Asks a team's tophub for all layers at once, where one is asked. Errors that are the user's to mend.
  Status prefetch(const std::vector<db::TeamKey>& keys);
  /// As measured_seconds(); nothing where the request has configs of its own.
  std::optional<double> measured(const Workload& w, const Target& target);

  /// Compares something that was found while building, as ranges of values are, with the lock's, or notes it.
  Status check_input(std::string_view name, std::string_view text);
  /// Before the files of an artifact take their places: compares their digests with the lock's, or adds the lock to
  /// them. `header`: path and text of one that is added behind it.
  Status seal(FileSet& files, const std::pair<std::string, std::string>& header);

 private:
  explicit BuildConfigs(const BuildRequest& request) : request_(request) {}
  bool is_locked() const { return !request_.locked.empty(); }
  // The request says the config itself; a model's layers have but the default.
  bool is_given() const { return request_.config == "default" || (request_.model.empty() && !request_.config.empty()); }
  Status differs(const std::string& what) const;
  Status compare_with_lock() const;
  StatusOr<ChosenConfig> locked(const Workload& w, const Target& target, const Space& space) const;

  using Key = std::pair<std::string, std::string>;  // workload, target
  const BuildRequest& request_;
  std::unique_ptr<db::TopHub> hub_;  // null: not asked
  db::LockFile lock_;                // as it was read
  std::map<Key, const db::LockedConfig*> locked_;
  db::LockFile facts_;  // of this build; written with the next two
  std::map<Key, db::LockedConfig> taken_;
  std::map<Key, double> times_;
};

}  // namespace hone
