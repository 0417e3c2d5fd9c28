// The rows that a team's tophub knows, those of the tophub's own kinds, with who brought them; and its questions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/rows.h"

namespace hone::db {

/// The peer that asks or brings rows: an owner of rows, and what it may see.
struct TeamPeer {
  std::string tenant;       ///< role and name, as the tracker's tokens have it ("tuner ann"); empty: the port is open
  bool is_admin = false;    ///< sees and removes everybody's rows
  bool hides_rows = false;  ///< the rows that it brings are seen by itself and admins alone
};

/// One layer of a build.
struct TeamKey {
  std::string workload, target;  ///< canonical

  bool operator==(const TeamKey&) const = default;
  auto operator<=>(const TeamKey&) const = default;
};

/// The questions of one build, a few hundred of them at most (kMostTeamKeys), answered by one request.
struct TeamQuery {
  std::vector<TeamKey> keys;
  bool nearest = true;  ///< keys without an exact row are answered with rows of workloads like them, too
};

/// The best that one owner has for one (workload, target, space, layouts).
struct TeamBest {
  BestRow row;
  std::string owner;   ///< TeamPeer::tenant of who brought it
  int64_t trials = 0;  ///< how many of this owner's trials stand behind it: ok ones of the same key

  bool operator==(const TeamBest&) const = default;
};

/// A config that one owner's models take instead of that owner's best (rows.h).
struct TeamChoice {
  ChoiceRow row;
  std::string owner;  ///< as in TeamBest

  bool operator==(const TeamChoice&) const = default;
};

/// The answer to a TeamQuery: all bests that the peer may see of the keys' workloads (on the key's target, and on other
/// targets of its kind), and of workloads near those without any; the choices that stand beside these bests; the texts
/// of definitions that they name. A key without any row in it is known to be absent.
struct TeamAnswer {
  std::vector<TeamBest> bests;
  std::vector<TeamChoice> choices;
  std::vector<DefinitionRow> definitions;
};

/// A workload that builds asked for and that no row answered.
struct TeamMiss {
  TeamKey key;
  int64_t count = 0;            ///< how often it was asked for
  int64_t first = 0, last = 0;  ///< Unix time in ms

  bool operator==(const TeamMiss&) const = default;
};

/// A line of the overview: who measured a workload, where and how often.
struct TeamCoverage {
  TeamKey key;
  std::string owner;
  std::string devices;  ///< each once, comma-separated
  int64_t trials = 0, sessions = 0, disturbed = 0;
  int64_t first = 0, last = 0;  ///< Unix time in ms
  std::optional<double> best_seconds;
  bool confirmed = false;

  bool operator==(const TeamCoverage&) const = default;
};

inline constexpr size_t kMostTeamKeys = 4096;  ///< of one query

}  // namespace hone::db
