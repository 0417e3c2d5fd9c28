#include "db/chain/remote_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "base/exit_code.h"
#include "base/key.h"
#include "base/log.h"
#include "base/secure_hash.h"
#include "base/text.h"
#include "base/time_text.h"
#include "db/best_store.h"
#include "db/chain/answer_cache.h"
#include "db/plausible.h"

namespace hone::db {
namespace {

// The order of best_store.h, which bests of several spaces have there.
auto order_of(const BestRow& b) {
  const bool has_no_default = b.disturbed && !b.default_seconds;
  const double time = b.seconds / (b.disturbed ? b.default_seconds.value_or(1) : 1);
  return std::tuple<bool, bool, bool, double, const std::string&, const std::string&, const std::string&>(
      !b.confirmed, b.disturbed, has_no_default, time, b.space, b.in_layout, b.out_layout);
}

class RemoteSource final : public Source {
 public:
  RemoteSource(std::shared_ptr<RemoteHub> hub, RemoteSourceOptions options)
      : hub_(std::move(hub)), options_(std::move(options)), cache_(options_.cache_path), tenant_(cache_.tenant()) {
    if (!options_.now_ms) options_.now_ms = &unix_ms;
    // One moment for all of a build: what is fresh when it begins stays so.
    begun_ = options_.now_ms();
  }

  std::string name() const override { return hub_->name(); }
  Status open() override { return absl::OkStatus(); }

  Status prefetch(const std::vector<TeamKey>& keys) override {
    std::vector<TeamKey> wanted;
    std::set<TeamKey> seen;
    cache_.read_at_once([&] {
      for (const TeamKey& key : keys)
        if (!known_.contains(key) && seen.insert(key).second && !take_cached(key, fresh_since())) wanted.push_back(key);
    });
    for (size_t begin = 0; begin < wanted.size(); begin += kMostTeamKeys) {
      const size_t end = std::min(wanted.size(), begin + kMostTeamKeys);
      HONE_RETURN_IF_ERROR(ask(
          {wanted.begin() + static_cast<std::ptrdiff_t>(begin), wanted.begin() + static_cast<std::ptrdiff_t>(end)}));
    }
    return absl::OkStatus();
  }

  Status visit(const std::string& workload, const std::string& target, const std::optional<std::string>& in_layout,
               const std::optional<std::string>& out_layout, const VisitBest& visit) override {
    const WorkloadAnswer& said = answer(workload, target_kind(target));
    std::vector<const TeamBest*> bests;
    for (const TeamBest& best : said.bests)
      if (best.row.workload == workload && best.row.target == target &&
          (!in_layout || best.row.in_layout == *in_layout) && (!out_layout || best.row.out_layout == *out_layout))
        bests.push_back(&best);
    std::stable_sort(bests.begin(), bests.end(), [&](const TeamBest* a, const TeamBest* b) {
      const int x = rank_of(a->owner), y = rank_of(b->owner);
      return x != y ? x < y : order_of(a->row) < order_of(b->row);
    });
    for (const TeamBest* best : bests) {
      BestRow row = best->row;
      if (visit(row, best->owner)) break;
    }
    return absl::OkStatus();
  }

  StatusOr<Trust> trust(const BestRow& row, std::string_view owner) override {
    // A provisional row is a guess, whoever has it.
    return row.confirmed && is_trusted(owner) ? Trust::kTrusted : Trust::kElsewhere;
  }

  StatusOr<std::vector<std::string>> other_targets(const std::string& workload, const std::string& target) override {
    std::set<std::string> targets;
    for (const TeamBest& best : answer(workload, target_kind(target)).bests)
      if (best.row.workload == workload && best.row.target != target) targets.insert(best.row.target);
    return std::vector<std::string>(targets.begin(), targets.end());
  }

  StatusOr<std::vector<std::string>> workloads(const std::string& task, const std::string& target_kind) override {
    return cache_.workloads(task, target_kind, is_silent_ ? 0 : fresh_since());
  }

  // Nobody's choice changes what somebody else's best gives, but for those who are trusted.
  StatusOr<std::optional<FoundChoice>> choice(const BestRow& best, std::string_view owner,
                                              const Source& best_from) override {
    const TeamChoice* found = nullptr;
    for (const TeamChoice& choice : answer(best.workload, target_kind(best.target)).choices) {
      const ChoiceRow& row = choice.row;
      if (row.workload != best.workload || row.target != best.target || row.space != best.space ||
          row.instead_of != best.config)
        continue;
      const bool is_owners = &best_from == this && choice.owner == owner;
      if (!is_owners && !is_trusted(choice.owner)) continue;
      const auto order = [&](const TeamChoice& c) { return std::tuple(-rank_of(c.owner), c.row.created_at); };
      if (!found || order(*found) < order(choice)) found = &choice;
    }
    if (!found) return std::nullopt;
    return FoundChoice{found->row, is_trusted(found->owner) ? Trust::kTrusted : Trust::kElsewhere};
  }

  StatusOr<std::optional<PriorRow>> prior(const std::string& target_kind, const std::string& schema) override {
    const auto known = priors_.find({target_kind, schema});
    if (known != priors_.end()) return known->second;
    std::optional<PriorRow>& out = priors_[{target_kind, schema}];
    std::optional<AnswerCache::CachedPrior> cached = cache_.prior(target_kind, schema);
    if (cached && (is_silent_ || is_fresh(cached->at))) return out = std::move(cached->row);
    if (is_silent_) return out;
    StatusOr<std::optional<PriorRow>> asked = hub_->prior(target_kind, schema);
    if (asked.ok()) {
      cache_.put_prior(target_kind, schema, *asked, begun_);
      return out = *std::move(asked);
    }
    if (is_users(asked.status())) return usage_error(message_of(asked.status()));
    fall_silent(asked.status(), cached ? std::optional(cached->at) : std::nullopt);
    if (cached) out = std::move(cached->row);
    return out;
  }

  StatusOr<bool> has_prior(const std::string&) override { return false; }

 private:
  // Errors that the user mends; all others are of a place that is gone, slow, or talks nonsense.
  static bool is_users(const Status& s) {
    return absl::IsPermissionDenied(s) || absl::IsUnauthenticated(s) || absl::IsInvalidArgument(s) ||
           absl::IsNotFound(s);
  }

  int64_t fresh_since() const { return begun_ - options_.ask_again_ms + 1; }
  // A time that is ahead is of a clock that was wrong.
  bool is_fresh(int64_t at) const { return at >= fresh_since() && at <= begun_ + kAskAgainMs; }

  bool is_trusted(std::string_view owner) const {
    if (owner.empty()) return false;
    return owner == tenant_ ||
           std::find(options_.trusted.begin(), options_.trusted.end(), owner) != options_.trusted.end();
  }
  int rank_of(std::string_view owner) const {
    return owner.empty() || !is_trusted(owner) ? 2 : owner == tenant_ ? 0 : 1;
  }

  // Takes what the cache has of a key, when it was asked at `since` or later. False: it has not.
  bool take_cached(const TeamKey& key, int64_t since) {
    const std::optional<int64_t> at = cache_.asked(key);
    if (!at || *at < since || *at > begun_ + kAskAgainMs) return false;
    const std::string kind(target_kind(key.target));
    if (!answers_.contains({key.workload, kind})) {
      std::optional<WorkloadAnswer> said = cache_.answer(key.workload, kind, since);
      if (!said) return false;  // damaged
      answers_.emplace(std::pair(key.workload, kind), *std::move(said));
    }
    oldest_ = std::min(oldest_, *at);
    known_.insert(key);
    return true;
  }

  Status ask(const std::vector<TeamKey>& keys) {
    if (is_silent_) return take_old(keys);
    StatusOr<TeamAnswer> said = hub_->ask({keys, /*nearest=*/true});
    if (said.ok()) {
      take(keys, *std::move(said));
      return absl::OkStatus();
    }
    if (is_users(said.status())) return usage_error(message_of(said.status()));
    const Status why = said.status();
    is_silent_ = true;
    oldest_ = INT64_MAX;
    HONE_RETURN_IF_ERROR(take_old(keys));
    fall_silent(why, oldest_ == INT64_MAX ? std::nullopt : std::optional(oldest_));
    return absl::OkStatus();
  }

  Status take_old(const std::vector<TeamKey>& keys) {
    for (const TeamKey& key : keys) {
      take_cached(key, 0);
      known_.insert(key);
    }
    return absl::OkStatus();
  }

  void take(const std::vector<TeamKey>& keys, TeamAnswer said) {
    if (const std::string tenant = hub_->tenant(); tenant != tenant_ || tenant.empty()) {
      tenant_ = tenant;
      cache_.put_tenant(tenant);
    }
    // By workload and kind of target: what is asked for, empty where nothing is known, and what is near.
    std::map<std::pair<std::string, std::string>, WorkloadAnswer> by_workload;
    std::set<std::pair<std::string_view, std::string_view>> tasks;
    for (const TeamKey& key : keys) {
      by_workload[{key.workload, std::string(target_kind(key.target))}];
      tasks.emplace(workload_name(key.workload), target_kind(key.target));
    }
    const auto of = [&](const std::string& workload, const std::string& target) -> WorkloadAnswer* {
      if (!tasks.contains({workload_name(workload), target_kind(target)})) return nullptr;  // nobody asked for that
      return &by_workload[{workload, std::string(target_kind(target))}];
    };
    // A hub's client has checked them; a hub in the same process may have not.
    for (TeamBest& best : said.bests)
      if (WorkloadAnswer* to = check_foreign(best.row).ok() ? of(best.row.workload, best.row.target) : nullptr)
        to->bests.push_back(std::move(best));
    for (TeamChoice& choice : said.choices)
      if (WorkloadAnswer* to = check_foreign(choice.row).ok() ? of(choice.row.workload, choice.row.target) : nullptr)
        to->choices.push_back(std::move(choice));
    const std::set<TeamKey> asked(keys.begin(), keys.end());
    for (auto& [key, answer] : by_workload) keep_other_targets(key.first, key.second, asked, answer);
    std::vector<AnswerCache::Said> kept;
    for (auto& [key, answer] : by_workload) kept.push_back({key.first, key.second, std::move(answer)});
    cache_.put(keys, kept, begun_);
    for (AnswerCache::Said& s : kept) answers_[{s.workload, s.target_kind}] = std::move(s.answer);
    known_.insert(keys.begin(), keys.end());
  }

  // It tells of no more targets than are like those that are asked for: what it said of others that were asked for
  // before stays, until these are asked for again.
  void keep_other_targets(const std::string& workload, const std::string& kind, const std::set<TeamKey>& asked,
                          WorkloadAnswer& answer) {
    std::optional<WorkloadAnswer> before = cache_.answer(workload, kind, 0);
    if (!before) return;
    std::map<std::string, bool> stays;  // by target
    for (const TeamBest& best : answer.bests) stays[best.row.target] = false;
    const auto does_stay = [&](const std::string& target) {
      const auto [place, is_new] = stays.try_emplace(target, false);
      if (is_new) place->second = !asked.contains({workload, target}) && cache_.asked({workload, target});
      return place->second;
    };
    for (TeamBest& best : before->bests)
      if (does_stay(best.row.target)) answer.bests.push_back(std::move(best));
    for (TeamChoice& choice : before->choices)
      if (does_stay(choice.row.target)) answer.choices.push_back(std::move(choice));
  }

  // All that is known of a workload: of keys that were asked for, and of workloads near them.
  const WorkloadAnswer& answer(const std::string& workload, std::string_view kind) {
    const std::pair<std::string, std::string> key(workload, kind);
    const auto known = answers_.find(key);
    if (known != answers_.end()) return known->second;
    std::optional<WorkloadAnswer> said = cache_.answer(key.first, key.second, is_silent_ ? 0 : fresh_since());
    return answers_.emplace(key, said ? *std::move(said) : WorkloadAnswer()).first->second;
  }

  void fall_silent(const Status& why, std::optional<int64_t> oldest) {
    is_silent_ = true;
    if (std::exchange(has_warned_, true)) return;
    if (oldest)
      log::warn("{}; its answers of {} ago are taken", message_of(why),
                age_text(static_cast<double>(std::max<int64_t>(0, begun_ - *oldest)) * 1e-3));
    else
      log::warn("{}; left out of the lookup", message_of(why));
  }

  const std::shared_ptr<RemoteHub> hub_;
  RemoteSourceOptions options_;
  AnswerCache cache_;
  std::string tenant_;
  int64_t begun_ = 0, oldest_ = INT64_MAX;
  bool is_silent_ = false, has_warned_ = false;
  std::set<TeamKey> known_;                                                // they need not be asked for any more
  std::map<std::pair<std::string, std::string>, WorkloadAnswer> answers_;  // by workload and kind of target
  std::map<std::pair<std::string, std::string>, std::optional<PriorRow>> priors_;
};

}  // namespace

StatusOr<int64_t> ask_again_from(const char* text) {
  if (!text || !*text) return kAskAgainMs;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (*end != '\0' || !(seconds >= 0 && seconds <= 1e9))
    return absl::InvalidArgumentError(
        fmt::format("HONE_TOPHUB_REFRESH: '{}' is no number of seconds from 0 to 1e9", clean_line(text)));
  return static_cast<int64_t>(seconds * 1e3);
}

std::string remote_cache_path(const std::string& folder, const std::string& url, const std::string& secret) {
  if (folder.empty()) return "";
  return folder + "/" + key_hash(url + "\n" + key_hash("a tophub's token: " + secret)) + ".db";
}

std::shared_ptr<Source> remote_source(std::shared_ptr<RemoteHub> hub, RemoteSourceOptions options) {
  return std::make_shared<RemoteSource>(std::move(hub), std::move(options));
}

}  // namespace hone::db
