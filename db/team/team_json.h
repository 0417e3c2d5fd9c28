// Questions to a team's tophub and their answers as JSON, one object on one line. Reading trusts nothing: sizes are
// bounded, texts are checked, unknown members are ignored, and every row passes check_foreign().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "db/team/team_rows.h"

namespace hone::db {

inline constexpr size_t kMostTeamBests = 65'536;   ///< of one answer; choices and definitions as many
inline constexpr size_t kMostTeamMisses = 10'000;  ///< of one answer
inline constexpr size_t kMostOwnerBytes = 512;     ///< of a tenant's name

/// Rows that were read, without those that cannot be believed.
template <class Rows>
struct TeamReading {
  Rows rows;
  std::string tenant;  ///< who the asker is taken for; empty: the port is open
  int64_t left_out = 0;
  std::string why;  ///< of the first row that was left out; one line
};

std::string team_query_json(const TeamQuery& query);
/// InvalidArgument: not a query, more than kMostTeamKeys keys, or one that is not canonical. No key twice.
StatusOr<TeamQuery> parse_team_query(std::string_view json);

/// `tenant`: who the asker is taken for.
std::string team_answer_json(const TeamAnswer& answer, const std::string& tenant);
/// InvalidArgument: not an answer at all.
StatusOr<TeamReading<TeamAnswer>> parse_team_answer(std::string_view json);

std::string team_misses_json(const std::vector<TeamMiss>& misses, const std::string& tenant);
StatusOr<TeamReading<std::vector<TeamMiss>>> parse_team_misses(std::string_view json);

/// Why a name cannot be a tenant's; the empty one, of an open port, can.
Status check_owner(const std::string& tenant);

/// Why a key cannot be asked for: texts of bounded size, of the grammar of keys, canonical.
Status check_foreign(const TeamKey& key);
Status check_foreign(const TeamBest& best);
Status check_foreign(const TeamChoice& choice);
Status check_foreign(const TeamMiss& miss);

}  // namespace hone::db
