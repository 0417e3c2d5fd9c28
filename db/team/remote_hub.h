// A team's tophub as programs see it, whatever carries the questions: HTTPS (rpc/hub), or a store in the same process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "db/team/team_rows.h"

namespace hone::db {

/// Thread-safe. Errors are one line that names the place; Unavailable where it does not answer (in time), which callers
/// take for "go on without it"; PermissionDenied, NotFound (no tophub is there) and InvalidArgument are the user's to
/// mend.
class RemoteHub {
 public:
  virtual ~RemoteHub() = default;

  /// For people, and the key of what is cached: its URL, without secrets.
  virtual std::string name() const = 0;
  /// The tenant that it takes us for, as its answers say; empty: the port is open, or nothing was asked yet.
  virtual std::string tenant() const = 0;

  /// All that passes check_foreign(); rows that do not are left out and counted in a warning.
  virtual StatusOr<TeamAnswer> ask(const TeamQuery& query) = 0;
  /// The prior of this target kind and feature schema.
  virtual StatusOr<std::optional<PriorRow>> prior(const std::string& target_kind, const std::string& schema) = 0;
  /// Adds rows. OK once they are durable there: they need not be sent again. Sending them again changes nothing.
  /// InvalidArgument: some of these rows are refused, and others may be taken.
  virtual Status push(const RecordSet& records) = 0;
  /// The keys that builds asked for in vain, the most often asked first.
  virtual StatusOr<std::vector<TeamMiss>> misses(const std::string& target_kind, size_t limit) = 0;
};

}  // namespace hone::db
