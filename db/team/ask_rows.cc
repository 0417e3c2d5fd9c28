// Answering a build: first which bests there are (keys alone), then which of them are told, then their trials, choices
// and definitions. Each step is one statement for all keys.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/key.h"
#include "base/text.h"
#include "db/best_rule.h"
#include "db/best_store.h"
#include "db/definition_store.h"
#include "db/team/shape.h"
#include "db/team/sql_store.h"

namespace hone::db {
namespace {

// Bounds of an answer for one workload. Nobody can push another's best out of it: each owner has its share.
constexpr size_t kMostTargets = 16;    // other than the key's, the most alike of each owner
constexpr size_t kMostOfAnOwner = 32;  // bests on one target: spaces and layouts
constexpr size_t kMostOfAWorkload = 2048;
constexpr size_t kMostNearest = 8;     // workloads like a key's
constexpr int64_t kMostLookedAt = 64;  // larger ones, and smaller ones, of the same shape

constexpr Sql kBests = {
    "SELECT b.trial, k.owner, o.name, g.text, b.confirmed, d.trial IS NOT NULL, d.default_s, b.seconds, k.space, "
    "k.in_layout, k.out_layout FROM workloads w JOIN keys k ON k.workload = w.id JOIN best b ON b.key = k.id "
    "JOIN owners o ON o.id = k.owner JOIN targets g ON g.id = k.target LEFT JOIN disturbed_trials d ON d.trial = "
    "b.trial WHERE w.hash = ?1 AND k.kind = ?2 AND k.usable > 0 AND " HONE_SEEN("?3", "?4"),
    "ttti"};
constexpr Sql kTrial = {
    "SELECT w.text, g.text, k.in_layout, k.out_layout, k.space, r.template, r.revision, t.config, t.seconds, t.times, "
    "t.confirmed, r.device, r.device_model, r.profile, r.hone_version, r.codegen_version, t.module_hash, s.uuid, "
    "t.seq, "
    "t.candidate, t.created_at, t.missing, t.sentinel_after, t.machine, k.measured FROM trials t "
    "JOIN keys k ON k.id = t.key JOIN workloads w ON w.id = k.workload JOIN targets g ON g.id = k.target "
    "JOIN sessions s ON s.id = t.session JOIN origins r ON r.id = t.origin WHERE t.id = ?1",
    "i"};
// Workloads of a shape that have a best, by size from ?2 on in one direction.
#define HONE_LIKE(COMPARED, ORDER)                                                                                \
  "SELECT w.text, w.size FROM workloads w WHERE w.shape = ?1 AND w.size " COMPARED                                \
  " ?2 AND (EXISTS (SELECT 1 FROM keys k WHERE k.workload = w.id AND k.kind = ?3 AND k.hidden = 0 AND k.usable "  \
  "> 0) OR EXISTS (SELECT 1 FROM keys k JOIN owners o ON o.id = k.owner WHERE k.workload = w.id AND k.kind = ?3 " \
  "AND k.hidden = 1 AND k.usable > 0 AND " HONE_SEEN("?4", "?5") ")) ORDER BY w.size " ORDER ", w.text LIMIT ?6"
constexpr Sql kLarger = {HONE_LIKE(">=", ""), "tdttii"};
constexpr Sql kSmaller = {HONE_LIKE("<", "DESC"), "tdttii"};
constexpr Sql kChoices = {
    "SELECT w.text, g.text, c.space, c.config, c.instead_of, c.seconds, c.instead_seconds, c.created_at, o.name "
    "FROM workloads w JOIN choices c ON c.workload = w.id JOIN owners o ON o.id = c.owner JOIN targets g ON g.id = "
    "c.target WHERE w.hash = ?1 AND " HONE_SEEN("?2", "?3"),
    "tti"};
constexpr Sql kDefinitions = {
    "SELECT d.kind, min(d.text) FROM definitions d JOIN owners o ON o.id = d.owner WHERE d.hash = ?1 "
    "AND " HONE_SEEN("?2", "?3") " GROUP BY d.kind",
    "tti"};

// A best before its trial was read.
struct Candidate {
  int64_t trial = 0, owner = 0;
  std::string tenant, target;
  bool confirmed = false, disturbed = false;
  std::optional<double> default_seconds;
  double seconds = 0;
  std::string space, in_layout, out_layout;

  // As HONE_BEST_ORDER, then the rest of the key.
  auto order() const {
    return std::tuple(!confirmed, disturbed, disturbed && !default_seconds, seconds / default_seconds.value_or(1),
                      std::tie(space, in_layout, out_layout, tenant), trial);
  }
};

Candidate read_candidate(const SqlRow& row) {
  Candidate c;
  c.trial = row.integer(0), c.owner = row.integer(1), c.tenant = row.text(2), c.target = row.text(3);
  c.confirmed = row.integer(4) != 0, c.disturbed = row.integer(5) != 0, c.default_seconds = row.maybe_real(6);
  c.seconds = row.real(7);
  c.space = row.text(8), c.in_layout = row.text(9), c.out_layout = row.text(10);
  return c;
}

// The bests of one workload that are told to who asks for `targets`: those on these and on the targets most like
// them, among each owner's own, so that nobody's push out another's; the first of each owner before the second of any.
std::vector<Candidate> told(std::vector<Candidate> all, const std::set<std::string>& targets) {
  std::map<int64_t, std::vector<std::string>> others_of;
  for (const Candidate& c : all)
    if (!targets.contains(c.target)) others_of[c.owner].push_back(c.target);
  std::set<std::pair<int64_t, std::string>> near;
  for (auto& [owner, others] : others_of)
    for (const std::string& target : targets) {
      sort_by_likeness(others, target);
      for (size_t i = 0; i < std::min(others.size(), kMostTargets); ++i) near.emplace(owner, others[i]);
    }
  std::erase_if(all, [&](const Candidate& c) {
    return !targets.contains(c.target) && !near.contains(std::pair(c.owner, c.target));
  });
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.order() < b.order(); });
  std::map<std::pair<int64_t, std::string>, size_t> of_owner;
  std::vector<std::pair<size_t, size_t>> places;  // rank among its owner's on its target, place in `all`
  for (size_t i = 0; i < all.size(); ++i)
    if (const size_t rank = of_owner[{all[i].owner, all[i].target}]++; rank < kMostOfAnOwner)
      places.emplace_back(rank, i);
  std::sort(places.begin(), places.end());
  if (places.size() > kMostOfAWorkload) places.resize(kMostOfAWorkload);
  std::vector<Candidate> out;
  for (const auto& [rank, i] : places) out.push_back(std::move(all[i]));
  std::sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) {
    return std::forward_as_tuple(a.target, a.order()) < std::forward_as_tuple(b.target, b.order());
  });
  return out;
}

// A workload of the same shape.
struct Like {
  double size_apart;
  std::string text;
};

// The nearest of them by all their numbers. They are at least as far apart as their sizes, so most need not be read.
std::vector<std::string> nearest_of(std::vector<Like> all, const WorkloadShape& shape) {
  std::sort(all.begin(), all.end(), [](const Like& a, const Like& b) {
    return std::tie(a.size_apart, a.text) < std::tie(b.size_apart, b.text);
  });
  std::set<std::pair<double, std::string>> nearest;
  for (Like& like : all) {
    if (nearest.size() == kMostNearest && like.size_apart > nearest.rbegin()->first + 1e-6) break;
    const auto numbers = shape_numbers(like.text);
    if (!numbers.ok()) continue;
    nearest.emplace(distance(shape.numbers, *numbers), std::move(like.text));
    if (nearest.size() > kMostNearest) nearest.erase(std::prev(nearest.end()));
  }
  std::vector<std::string> out;
  for (const auto& [far, text] : nearest) out.push_back(text);
  return out;
}

template <class Key>
Status check_canonical(const char* what, const StatusOr<Key>& key, const std::string& text) {
  if (key.ok() && to_string(*key) == text) return absl::OkStatus();
  return absl::InvalidArgumentError(
      key.ok() ? fmt::format("{} '{}' is written '{}'", what, short_line(text, 200), short_line(to_string(*key), 200))
               : message_of(key.status()));
}

// One query, inside its transaction.
class Asker {
 public:
  Asker(SqlConnection& db, const TeamQuery& query, const TeamPeer& peer, TeamAnswer* answer)
      : db_(db), query_(query), peer_(peer), answer_(*answer) {}

  Status run(std::vector<TeamKey>* missed) {
    std::map<Group, std::set<std::string>> groups;
    for (const TeamKey& key : query_.keys)
      groups[{key.workload, std::string(target_kind(key.target))}].insert(key.target);
    HONE_RETURN_IF_ERROR(find_bests(groups));
    std::vector<TeamKey> without_exact, without_any;
    for (const TeamKey& key : query_.keys) {
      const auto found = found_.find({key.workload, std::string(target_kind(key.target))});
      const bool any = found != found_.end() && !found->second.empty();
      if (!any) without_any.push_back(key);
      if (!any || std::none_of(found->second.begin(), found->second.end(),
                               [&](const Candidate& c) { return c.target == key.target; }))
        without_exact.push_back(key);
    }
    for (const TeamKey& key : without_exact) {
      HONE_RETURN_IF_ERROR(check_canonical("workload", parse_workload_key(key.workload), key.workload));
      HONE_RETURN_IF_ERROR(check_canonical("target", parse_target_key(key.target), key.target));
    }
    if (query_.nearest) HONE_RETURN_IF_ERROR(find_nearest(without_any));
    std::sort(without_exact.begin(), without_exact.end());
    without_exact.erase(std::unique(without_exact.begin(), without_exact.end()), without_exact.end());
    *missed = std::move(without_exact);
    HONE_RETURN_IF_ERROR(read_trials());
    HONE_RETURN_IF_ERROR(find_choices());
    return find_definitions();
  }

 private:
  using Group = std::pair<std::string, std::string>;  // workload and kind of target

  Status find_bests(const std::map<Group, std::set<std::string>>& groups) {
    std::vector<SqlValues> values;
    std::vector<const Group*> asked;
    std::vector<std::vector<Candidate>> found(groups.size());
    for (const auto& [group, targets] : groups) {
      values.push_back({key_hash(group.first), group.second, peer_.tenant, int64_t{peer_.is_admin}});
      asked.push_back(&group);
    }
    HONE_RETURN_IF_ERROR(db_.run_each(kBests, values, [&](size_t which, const SqlRow& row) {
      return found[which].push_back(read_candidate(row)), absl::OkStatus();
    }));
    for (size_t i = 0; i < found.size(); ++i)
      if (!found[i].empty()) found_[*asked[i]] = told(std::move(found[i]), groups.at(*asked[i]));
    return absl::OkStatus();
  }

  // The nearest workloads of each key without any row, by all their numbers, among those of about its size.
  Status find_nearest(const std::vector<TeamKey>& keys) {
    std::map<Group, std::set<std::string>> wanted, asked;
    for (const TeamKey& key : keys) asked[{key.workload, std::string(target_kind(key.target))}].insert(key.target);
    std::vector<SqlValues> values;
    std::vector<WorkloadShape> shapes;
    for (const auto& [group, targets] : asked) {
      HONE_ASSIGN_OR_RETURN(const WorkloadShape shape, shape_of(group.first));
      values.push_back({shape.group, shape.size, group.second, peer_.tenant, int64_t{peer_.is_admin}, kMostLookedAt});
      shapes.push_back(shape);
    }
    std::vector<std::vector<Like>> like(shapes.size());
    for (const Sql& sql : {kLarger, kSmaller})
      HONE_RETURN_IF_ERROR(db_.run_each(sql, values, [&](size_t which, const SqlRow& row) {
        return like[which].push_back({std::abs(row.real(1) - shapes[which].size), row.text(0)}), absl::OkStatus();
      }));
    size_t i = 0;
    for (const auto& [group, targets] : asked) {
      for (std::string& text : nearest_of(std::move(like[i]), shapes[i]))
        wanted[{std::move(text), group.second}].insert(targets.begin(), targets.end());
      ++i;
    }
    for (const auto& [group, bests] : found_) wanted.erase(group);
    return find_bests(wanted);
  }

  Status read_trials() {
    std::vector<SqlValues> ids;
    std::vector<const Candidate*> bests;
    for (const auto& [group, found] : found_)
      for (const Candidate& c : found) ids.push_back({c.trial}), bests.push_back(&c);
    answer_.bests.resize(bests.size());
    return db_.run_each(kTrial, ids, [&](size_t which, const SqlRow& row) {
      const Candidate& c = *bests[which];
      TeamBest& best = answer_.bests[which];
      best.owner = c.tenant;
      BestRow& b = best.row;
      int at = 0;
      b.workload = row.text(at++), b.target = row.text(at++);
      b.in_layout = row.text(at++), b.out_layout = row.text(at++), b.space = row.text(at++);
      b.template_name = row.text(at++), b.template_revision = row.integer(at++);
      b.config = row.text(at++), b.seconds = row.real(at++), b.spread = spread_of(parse_times(row.text(at++)));
      b.confirmed = row.integer(at++) != 0;
      b.device = row.text(at++), b.device_model = row.text(at++), b.profile = row.text(at++);
      b.hone_version = row.text(at++), b.codegen_version = row.text(at++), b.module_hash = row.text(at++);
      b.session = row.text(at++), b.seq = row.integer(at++), b.candidate = row.integer(at++);
      b.updated_at = row.integer(at++), b.missing = row.text(at++), b.sentinel = row.real(at++);
      b.disturbed = c.disturbed, b.default_seconds = c.default_seconds;
      b.machine = read_machine(row, at++);
      best.trials = row.integer(at++);
      return absl::OkStatus();
    });
  }

  Status find_choices() {
    std::set<std::tuple<std::string, std::string, std::string, std::string, std::string>> bests;
    std::set<std::string> workloads;
    for (const TeamBest& b : answer_.bests) {
      bests.insert({b.row.workload, b.row.target, b.row.space, b.row.config, b.owner});
      workloads.insert(b.row.workload);
    }
    std::vector<SqlValues> values;
    for (const std::string& workload : workloads)
      values.push_back({key_hash(workload), peer_.tenant, int64_t{peer_.is_admin}});
    HONE_RETURN_IF_ERROR(db_.run_each(kChoices, values, [&](size_t, const SqlRow& row) {
      TeamChoice choice;
      ChoiceRow& c = choice.row;
      c.workload = row.text(0), c.target = row.text(1), c.space = row.text(2), c.config = row.text(3);
      c.instead_of = row.text(4), c.seconds = row.real(5), c.instead_seconds = row.real(6),
      c.created_at = row.integer(7);
      choice.owner = row.text(8);
      // One beside another owner's best would change what that is trusted for.
      if (bests.contains({c.workload, c.target, c.space, c.instead_of, choice.owner}))
        answer_.choices.push_back(std::move(choice));
      return absl::OkStatus();
    }));
    std::sort(answer_.choices.begin(), answer_.choices.end(), [](const TeamChoice& a, const TeamChoice& b) {
      const auto place = [](const TeamChoice& c) {
        return std::tie(c.row.workload, c.row.target, c.row.space, c.row.instead_of, c.owner, c.row.created_at);
      };
      return place(a) < place(b);
    });
    return absl::OkStatus();
  }

  Status find_definitions() {
    std::set<std::string> hashes;
    for (const TeamBest& b : answer_.bests) {
      add_definition_hashes(b.row.workload, &hashes);
      add_definition_hashes(b.row.config, &hashes);
    }
    for (const TeamChoice& c : answer_.choices) add_definition_hashes(c.row.config, &hashes);
    const std::vector<std::string> list(hashes.begin(), hashes.end());
    std::vector<SqlValues> values;
    for (const std::string& hash : list) values.push_back({hash, peer_.tenant, int64_t{peer_.is_admin}});
    HONE_RETURN_IF_ERROR(db_.run_each(kDefinitions, values, [&](size_t which, const SqlRow& row) {
      answer_.definitions.push_back({list[which], row.text(0), row.text(1)});
      return absl::OkStatus();
    }));
    std::sort(answer_.definitions.begin(), answer_.definitions.end(),
              [](const auto& a, const auto& b) { return std::tie(a.hash, a.kind) < std::tie(b.hash, b.kind); });
    return absl::OkStatus();
  }

  SqlConnection& db_;
  const TeamQuery& query_;
  const TeamPeer& peer_;
  TeamAnswer& answer_;
  std::map<Group, std::vector<Candidate>> found_;
};

}  // namespace

Status ask_rows(SqlConnection& db, const TeamQuery& query, const TeamPeer& peer, TeamAnswer* answer,
                std::vector<TeamKey>* missed) {
  if (query.keys.size() > kMostTeamKeys)
    return absl::InvalidArgumentError(
        fmt::format("{} keys in one query, at most {} are allowed", query.keys.size(), kMostTeamKeys));
  return Asker(db, query, peer, answer).run(missed);
}

}  // namespace hone::db
