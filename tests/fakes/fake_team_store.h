// A team's tophub in memory, for tests of what stands above the store: owners, hidden rows and misses as TeamStore
// says; a best is the fastest trial that went well.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/plausible.h"
#include "db/team/team_json.h"
#include "db/team/team_store.h"

namespace hone::db {

class FakeTeamStore final : public TeamStore {
 public:
  /// The answer of every call instead; OK: nothing.
  void break_with(const Status& status) {
    std::lock_guard lock(mutex_);
    broken_ = status;
  }
  /// Called by each call before it does anything, on its thread.
  std::function<void()> before = [] {};
  std::atomic<int> calls{0};

  StatusOr<ExchangeCount> add(const RecordSet& records, const TeamPeer& peer, int64_t now_ms) override {
    ++calls, before();
    std::lock_guard lock(mutex_);
    HONE_RETURN_IF_ERROR(broken_);
    for (const TrialRow& trial : records.trials) HONE_RETURN_IF_ERROR(owned(trial.session, peer));
    for (const SessionRow& session : records.sessions) HONE_RETURN_IF_ERROR(owned(session.uuid, peer));
    ExchangeCount count;
    for (const SessionRow& session : records.sessions) {
      owners_.emplace(session.uuid, peer.tenant);
      count.sessions += sessions_.emplace(session.uuid, session).second;
    }
    for (TrialRow trial : records.trials) {
      owners_.emplace(trial.session, peer.tenant);
      trial.created_at = settled_date(trial.created_at, now_ms);
      const auto key = std::tuple(trial.session, trial.seq, trial.candidate);
      const bool fresh = trials_.emplace(key, Trial{trial, peer.tenant, peer.hides_rows}).second;
      ++(fresh ? count.trials : count.duplicates);
    }
    for (const PriorRow& prior : records.priors)
      count.priors += priors_.emplace(std::pair(prior.target_kind, prior.schema), prior).second;
    for (const ChoiceRow& choice : records.choices) choices_.push_back({choice, peer.tenant}), ++count.choices;
    for (const DefinitionRow& one : records.definitions)
      count.definitions += definitions_.emplace(one.hash, one).second;
    return count;
  }

  StatusOr<TeamAnswer> ask(const TeamQuery& query, const TeamPeer& peer, int64_t now_ms) override {
    ++calls, before();
    std::lock_guard lock(mutex_);
    HONE_RETURN_IF_ERROR(broken_);
    TeamAnswer out;
    for (const TeamKey& key : query.keys) {
      bool exact = false;
      for (TeamBest& best : bests(key.workload, peer)) {
        exact |= best.row.target == key.target;
        out.bests.push_back(std::move(best));
      }
      if (exact || peer.hides_rows) continue;
      TeamMiss& miss = misses_.emplace(key, TeamMiss{key, 0, now_ms, now_ms}).first->second;
      ++miss.count, miss.last = now_ms;
    }
    out.choices = choices_;
    return out;
  }

  StatusOr<std::optional<PriorRow>> prior(const std::string& kind, const std::string& schema,
                                          const TeamPeer&) override {
    ++calls, before();
    std::lock_guard lock(mutex_);
    HONE_RETURN_IF_ERROR(broken_);
    const auto found = priors_.find({kind, schema});
    return found == priors_.end() ? std::nullopt : std::optional(found->second);
  }

  StatusOr<std::vector<TeamMiss>> misses(const std::string&, size_t limit) override {
    ++calls, before();
    std::lock_guard lock(mutex_);
    HONE_RETURN_IF_ERROR(broken_);
    std::vector<TeamMiss> out;
    for (const auto& [key, miss] : misses_) out.push_back(miss);
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
    if (out.size() > limit) out.resize(limit);
    return out;
  }

  StatusOr<std::vector<TeamCoverage>> coverage(const TeamPeer& peer, const std::string& contains,
                                               const std::optional<TeamCoverage>& after, size_t limit) override {
    ++calls, before();
    std::lock_guard lock(mutex_);
    HONE_RETURN_IF_ERROR(broken_);
    using Key = std::tuple<std::string, std::string, std::string>;
    std::map<Key, TeamCoverage> lines;
    for (const auto& [id, trial] : trials_) {
      const TrialRow& row = trial.row;
      if (!sees(peer, trial) || row.workload.find(contains) == std::string::npos) continue;
      const Key key(row.workload, row.target, trial.owner);
      if (after && key <= Key(after->key.workload, after->key.target, after->owner)) continue;
      TeamCoverage& line = lines[key];
      line.key = {row.workload, row.target}, line.owner = trial.owner, line.devices = row.device;
      ++line.trials, line.sessions = 1, line.disturbed += row.disturbed, line.confirmed |= row.confirmed;
      line.first = line.first == 0 ? row.created_at : std::min(line.first, row.created_at);
      line.last = std::max(line.last, row.created_at);
      if (row.seconds) line.best_seconds = std::min(line.best_seconds.value_or(*row.seconds), *row.seconds);
    }
    std::vector<TeamCoverage> out;
    for (auto& [key, line] : lines)
      if (out.size() < limit) out.push_back(std::move(line));
    return out;
  }

  Status visit_all(const TeamPeer& peer,
                   const std::function<Status(const RecordSet&, const std::string&)>& visit) override {
    ++calls, before();
    std::lock_guard lock(mutex_);
    HONE_RETURN_IF_ERROR(broken_);
    for (const auto& [uuid, session] : sessions_) HONE_RETURN_IF_ERROR(visit({.sessions = {session}}, owners_[uuid]));
    for (const auto& [id, trial] : trials_)
      if (sees(peer, trial)) HONE_RETURN_IF_ERROR(visit({.trials = {trial.row}}, trial.owner));
    for (const auto& [key, prior] : priors_) HONE_RETURN_IF_ERROR(visit({.priors = {prior}}, ""));
    return absl::OkStatus();
  }

  StatusOr<int64_t> remove_owner(const std::string& tenant) override {
    std::lock_guard lock(mutex_);
    return static_cast<int64_t>(std::erase_if(trials_, [&](const auto& one) { return one.second.owner == tenant; }));
  }

  Status ping() override {
    std::lock_guard lock(mutex_);
    return broken_;
  }

 private:
  struct Trial {
    TrialRow row;
    std::string owner;
    bool hidden;
  };

  static bool sees(const TeamPeer& peer, const Trial& trial) {
    return peer.is_admin || !trial.hidden || trial.owner == peer.tenant;
  }
  Status owned(const std::string& session, const TeamPeer& peer) const {
    const auto owner = owners_.find(session);
    if (owner == owners_.end() || owner->second == peer.tenant) return absl::OkStatus();
    return absl::PermissionDeniedError("session " + session + " is another tenant's");
  }
  std::vector<TeamBest> bests(const std::string& workload, const TeamPeer& peer) const {
    std::map<std::pair<std::string, std::string>, TeamBest> found;
    for (const auto& [id, trial] : trials_) {
      const TrialRow& t = trial.row;
      if (!sees(peer, trial) || t.workload != workload || !t.seconds) continue;
      TeamBest& best = found[{trial.owner, t.target}];
      ++best.trials;
      if (best.row.seconds > 0 && best.row.seconds <= *t.seconds) continue;
      best.owner = trial.owner;
      best.row = {.workload = t.workload, .target = t.target, .in_layout = t.in_layout, .out_layout = t.out_layout};
      best.row.space = t.space, best.row.template_name = t.template_name, best.row.config = t.config;
      best.row.seconds = *t.seconds, best.row.confirmed = t.confirmed, best.row.device = t.device;
      best.row.session = t.session, best.row.seq = t.seq, best.row.updated_at = t.created_at;
    }
    std::vector<TeamBest> out;
    for (auto& [key, best] : found) out.push_back(std::move(best));
    return out;
  }

  std::mutex mutex_;  // guards the members below
  Status broken_;
  std::map<std::string, SessionRow> sessions_;
  std::map<std::string, std::string> owners_;
  std::map<std::tuple<std::string, int64_t, int64_t>, Trial> trials_;
  std::map<std::pair<std::string, std::string>, PriorRow> priors_;
  std::vector<TeamChoice> choices_;
  std::map<std::string, DefinitionRow> definitions_;
  std::map<TeamKey, TeamMiss> misses_;
};

}  // namespace hone::db
