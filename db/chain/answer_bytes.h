// The answer of a team's tophub about one workload, as bytes for the cache.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/team/team_rows.h"

namespace hone::db {

/// All that it said of a workload for one kind of target.
struct WorkloadAnswer {
  std::vector<TeamBest> bests;
  std::vector<TeamChoice> choices;

  bool operator==(const WorkloadAnswer&) const = default;
};

/// They are of one byte order and version of this program: a cache's file is read where it was written.
std::string to_bytes(const WorkloadAnswer& answer);
std::string to_bytes(const PriorRow& prior);
/// Null: they are not such bytes, or not all of them. Any bytes may be given.
std::optional<WorkloadAnswer> answer_of_bytes(std::string_view bytes);
std::optional<PriorRow> prior_of_bytes(std::string_view bytes);

}  // namespace hone::db
