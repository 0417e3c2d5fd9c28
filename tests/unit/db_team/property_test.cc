// Random pushes and questions of several tenants: both stores answer as a plain model does, which keeps all rows in
// lists and derives each answer from them.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "db/plausible.h"
#include "team_fixture.h"
#include "tests/fakes/draws.h"

namespace hone::db {
namespace {

class Model {
 public:
  struct Row {
    TrialRow trial;
    TeamPeer owner;
  };

  /// Whether the push is taken.
  bool add(const std::vector<TrialRow>& trials, const TeamPeer& peer) {
    for (const TrialRow& t : trials)
      if (const auto at = sessions_.find(t.session); at != sessions_.end() && at->second != peer.tenant) return false;
    for (const TrialRow& t : trials) {
      sessions_[t.session] = peer.tenant;
      if (!known_.insert({t.session, t.seq}).second) continue;
      rows_.push_back({t, peer});
      if (counts(t) && !peer.hides_rows) misses_.erase({t.workload, t.target});
    }
    return true;
  }

  std::vector<std::string> ask(const TeamKey& key, const TeamPeer& peer) {
    std::map<std::string, std::vector<const Row*>> by_key;
    bool exact = false;
    for (const Row& row : rows_) {
      if (!sees(peer, row.owner) || row.trial.workload != key.workload) continue;
      by_key[row.owner.tenant + (row.owner.hides_rows ? " hidden " : " ") + row.trial.target + row.trial.in_layout]
          .push_back(&row);
    }
    std::vector<std::string> out;
    for (const auto& [name, rows] : by_key)
      if (const TrialRow* best = best_of(rows)) {
        const auto ok = std::count_if(rows.begin(), rows.end(), [](const Row* r) { return r->trial.status == "ok"; });
        out.push_back(describe(rows[0]->owner.tenant, best->session, best->seq, best->config, ok));
        exact = exact || best->target == key.target;
      }
    if (!exact && !peer.hides_rows) ++misses_[key];
    std::sort(out.begin(), out.end());
    return out;
  }

  void remove(const std::string& tenant) {
    std::erase_if(rows_, [&](const Row& r) { return r.owner.tenant == tenant; });
    for (auto at = sessions_.begin(); at != sessions_.end();) {
      if (at->second != tenant) {
        ++at;
        continue;
      }
      std::erase_if(known_, [&](const auto& id) { return id.first == at->first; });
      at = sessions_.erase(at);
    }
  }

  int64_t visible(const TeamPeer& peer) const {
    return std::count_if(rows_.begin(), rows_.end(), [&](const Row& r) { return sees(peer, r.owner); });
  }
  const std::map<TeamKey, int64_t>& misses() const { return misses_; }

  static std::string describe(const std::string& owner, const std::string& session, int64_t seq,
                              const std::string& config, int64_t trials) {
    return owner + " " + session + "/" + std::to_string(seq) + " " + config + " of " + std::to_string(trials);
  }

 private:
  static bool sees(const TeamPeer& peer, const TeamPeer& owner) {
    return !owner.hides_rows || peer.is_admin || peer.tenant == owner.tenant;
  }
  static bool counts(const TrialRow& t) { return t.status == "ok" && !t.censored; }

  static const TrialRow* best_of(const std::vector<const Row*>& rows) {
    for (const auto& [confirmed, disturbed] : {std::pair(true, false), {true, true}, {false, false}, {false, true}}) {
      std::vector<const TrialRow*> of_class;
      for (const Row* row : rows)
        if (counts(row->trial) && row->trial.confirmed == confirmed && row->trial.disturbed == disturbed)
          of_class.push_back(&row->trial);
      if (confirmed) {
        // The latest of each config; of the same time the faster one.
        std::map<std::string, const TrialRow*> latest;
        for (const TrialRow* t : of_class) {
          const TrialRow*& now = latest[t->config];
          if (!now || std::tuple(t->created_at, -*t->seconds) >= std::tuple(now->created_at, -*now->seconds)) now = t;
        }
        of_class.clear();
        for (const auto& [config, t] : latest) of_class.push_back(t);
      }
      const auto order = [&](const TrialRow* t) {
        return std::tuple(disturbed && !t->default_seconds, *t->seconds / t->default_seconds.value_or(1), t->created_at,
                          t->config);
      };
      const auto best = std::min_element(of_class.begin(), of_class.end(),
                                         [&](const TrialRow* a, const TrialRow* b) { return order(a) < order(b); });
      if (best != of_class.end()) return *best;
    }
    return nullptr;
  }

  std::vector<Row> rows_;
  std::map<std::string, std::string> sessions_;  // whose each is
  std::set<std::pair<std::string, int64_t>> known_;
  std::map<TeamKey, int64_t> misses_;
};

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  int upto(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

  TeamPeer peer() {
    static const std::vector<TeamPeer> peers = {kAnn, kBob, kSecret, kAdmin, TeamPeer{"tuner sue"}};
    return peers[static_cast<size_t>(upto(static_cast<int>(peers.size())))];
  }
  std::string workload() { return "dense(m=" + std::to_string(1 << upto(3)) + ")"; }
  std::string target() { return upto(3) == 0 ? kSkylake : kZen; }

  TrialRow trial(const TeamPeer& peer) {
    // Now and then a session that another may have.
    const std::string whose = upto(40) == 0 ? kBob.tenant : peer.tenant;
    TrialRow t =
        team_trial(whose + std::to_string(upto(2)), upto(120), 1e-3 * (1 + upto(4)), "t=" + std::to_string(upto(4)));
    t.workload = workload(), t.target = target();
    t.in_layout = upto(4) == 0 ? "other" : "MK";
    t.created_at = kNow - kHour + upto(5);
    t.confirmed = upto(2) == 0;
    if (upto(3) == 0)
      t = disturbed(t, t.confirmed && upto(2) == 0 ? std::optional(1e-3 * (1 + upto(3))) : std::nullopt);
    if (upto(8) == 0) return failed(t);
    t.censored = upto(8) == 0;
    return t;
  }

 private:
  std::mt19937 random_;
};

std::vector<std::string> answers(TeamStore& store, const TeamKey& key, const TeamPeer& peer) {
  const auto answer = store.ask({{key}, false}, peer, kNow);
  EXPECT_TRUE(answer.ok()) << answer.status();
  std::vector<std::string> out;
  for (const TeamBest& b : answer.value_or(TeamAnswer{}).bests)
    out.push_back(Model::describe(b.owner, b.row.session, b.row.seq, b.row.config, b.trials));
  std::sort(out.begin(), out.end());
  return out;
}

void compare(TeamStore& store, Draw draw, int steps) {
  Model model;
  for (int step = 0; step < steps; ++step) {
    const TeamPeer peer = draw.peer();
    const int what = draw.upto(100);
    if (what < 60) {
      std::vector<TrialRow> trials;
      for (int n = 1 + draw.upto(6); n > 0; --n) trials.push_back(draw.trial(peer));
      const auto added = store.add({.trials = trials}, peer, kNow);
      EXPECT_EQ(added.ok(), model.add(trials, peer)) << added.status();
      EXPECT_TRUE(added.ok() || absl::IsPermissionDenied(added.status())) << added.status();
    } else if (what < 99) {
      const TeamKey key = {draw.workload(), draw.target()};
      ASSERT_EQ(answers(store, key, peer), model.ask(key, peer)) << "step " << step << ": " << key.workload;
    } else {
      ASSERT_TRUE(store.remove_owner(peer.tenant).ok());
      model.remove(peer.tenant);
    }
  }
  std::map<TeamKey, int64_t> misses;
  for (const TeamMiss& m : *store.misses("", 1000)) misses[m.key] = m.count;
  EXPECT_EQ(misses, model.misses());
  for (const TeamPeer& peer : {kAnn, kSecret, kAdmin}) {
    int64_t visited = 0, covered = 0;
    ASSERT_TRUE(store
                    .visit_all(peer,
                               [&](const RecordSet& part, const std::string&) {
                                 visited += static_cast<int64_t>(part.trials.size());
                                 return absl::OkStatus();
                               })
                    .ok());
    for (const TeamCoverage& c : *store.coverage(peer, "", std::nullopt, 1000)) covered += c.trials;
    EXPECT_EQ(visited, model.visible(peer));
    EXPECT_EQ(covered, model.visible(peer));
  }
}

class TeamProperty : public TeamStoreTest {};
HONE_BOTH_STORES(TeamProperty);

TEST_P(TeamProperty, AnswersAsAPlainModel) {
  for (int seed = 0; seed < draws(4, 60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    if (GetParam() == Backend::kSqlite)
      url_ = folder_.path() + "/" + std::to_string(seed) + ".db";
    else
      url_ = postgres_server().new_database();
    store_ = open();
    compare(*store_, Draw(static_cast<uint32_t>(seed)), 300);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace hone::db
