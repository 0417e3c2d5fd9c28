// A team's tophub in memory: rows of several owners, and a count of what it was asked.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/key.h"
#include "db/team/remote_hub.h"

namespace hone::db {

class FakeTeamHub : public RemoteHub {
 public:
  std::vector<TeamBest> bests;
  std::vector<TeamChoice> choices;
  std::vector<PriorRow> priors;
  Status failure;                   ///< of each call; ok: none
  std::string owner = "tuner ann";  ///< who it takes the asker for
  std::string url = "https://hub:9200";
  std::vector<TeamQuery> asked;
  int priors_asked = 0;
  std::vector<RecordSet> pushed;

  std::string name() const override { return url; }
  std::string tenant() const override { return asked.empty() && priors_asked == 0 ? "" : owner; }

  StatusOr<TeamAnswer> ask(const TeamQuery& query) override {
    asked.push_back(query);
    if (!failure.ok()) return failure;
    TeamAnswer out;
    std::set<size_t> told;
    for (const TeamKey& key : query.keys) {
      bool is_there = false;
      for (const TeamBest& b : bests) is_there |= b.row.workload == key.workload && b.row.target == key.target;
      for (size_t i = 0; i < bests.size(); ++i) {
        const BestRow& row = bests[i].row;
        const bool is_near = query.nearest && !is_there && workload_name(row.workload) == workload_name(key.workload);
        if (target_kind(row.target) == target_kind(key.target) && (is_near || row.workload == key.workload))
          told.insert(i);
      }
    }
    for (const size_t i : told) out.bests.push_back(bests[i]);
    for (const TeamChoice& choice : choices)
      for (const TeamBest& b : out.bests)
        if (b.row.workload == choice.row.workload && b.row.target == choice.row.target &&
            b.row.space == choice.row.space) {
          out.choices.push_back(choice);
          break;
        }
    return out;
  }

  StatusOr<std::optional<PriorRow>> prior(const std::string& target_kind, const std::string& schema) override {
    ++priors_asked;
    if (!failure.ok()) return failure;
    for (const PriorRow& row : priors)
      if (row.target_kind == target_kind && row.schema == schema) return row;
    return std::nullopt;
  }

  Status push(const RecordSet& records) override {
    if (!failure.ok()) return failure;
    pushed.push_back(records);
    return absl::OkStatus();
  }

  StatusOr<std::vector<TeamMiss>> misses(const std::string&, size_t) override { return std::vector<TeamMiss>(); }
};

}  // namespace hone::db
