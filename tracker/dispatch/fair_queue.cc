#include "tracker/dispatch/fair_queue.h"

#include <algorithm>
#include <cmath>

namespace hone::tracker {
namespace {

constexpr double kSmoothing = 0.2;
constexpr double kMaxExponent = 64;  // of scale(), before levels are scaled down
// A job's cost, for the debt to lower priorities: jobs not yet known are not free.
constexpr double kLeastCost = 1e-6;
constexpr size_t kMaxOwed = 256;  // priorities remembered

}  // namespace

// Levels are kept relative to the origin, where a use at a later moment weighs more. So all of them fade at the same
// rate without being touched, and their order changes only where one is charged.
double FairQueue::scale(Clock::TimePoint then) const {
  return std::exp(std::chrono::duration<double>(then - origin_).count() / options_.memory_s);
}

void FairQueue::rebase() {
  const auto now = clock_.now();
  if (std::chrono::duration<double>(now - origin_).count() < kMaxExponent * options_.memory_s) return;
  const double by = 1 / scale(now);
  for (auto& [uuid, account] : accounts_) change_level(account, account.level * by);  // other levels may be equal now
  origin_ = now;
}

FairQueue::Account* FairQueue::find(const wire::Uuid& session) {
  const auto it = accounts_.find(session);
  return it == accounts_.end() ? nullptr : &it->second;
}

const FairQueue::Account* FairQueue::find(const wire::Uuid& session) const {
  const auto it = accounts_.find(session);
  return it == accounts_.end() ? nullptr : &it->second;
}

// Into its tier, if it has queued jobs.
void FairQueue::seat(Account& account) {
  if (account.queued()) groups_[account.group].tiers[account.rank()].insert(&account);
}

void FairQueue::unseat(Account& account) {
  if (!account.queued()) return;
  Group& group = groups_.at(account.group);
  const auto tier = group.tiers.find(account.rank());
  tier->second.erase(&account);
  if (tier->second.empty()) group.tiers.erase(tier);
}

void FairQueue::change_level(Account& account, double level) {
  unseat(account);
  account.level = level;
  seat(account);
}

void FairQueue::add_session(const wire::Uuid& session, uint32_t group, double weight, int32_t priority) {
  const auto [it, is_new] = accounts_.try_emplace(session);
  Account& account = it->second;
  if (is_new) {
    account.session = session;
    account.id = next_id_++;
  } else {
    unseat(account);
    Group& old = groups_[account.group];
    old.jobs -= account.jobs.size();
    old.retries -= account.retries.size();
    if (old.jobs + old.retries == 0) groups_.erase(account.group);
  }
  account.level *= account.weight / weight;
  account.group = group;
  account.weight = weight;
  account.priority = priority;
  if (!account.queued()) return;
  groups_[group].jobs += account.jobs.size();
  groups_[group].retries += account.retries.size();
  seat(account);
}

void FairQueue::remove_session(const wire::Uuid& session) {
  Account* account = find(session);
  if (!account) return;
  if (account->queued()) {
    unseat(*account);
    Group& group = groups_.at(account->group);
    group.jobs -= account->jobs.size();
    group.retries -= account->retries.size();
    if (group.jobs + group.retries == 0) groups_.erase(account->group);
  }
  for (const auto* list : {&account->jobs, &account->retries})
    for (const uint64_t seq : *list) queued_.erase({session, seq});
  accounts_.erase(session);
}

void FairQueue::push(const JobKey& job, Place place) {
  Account& account = *find(job.session);
  const bool was_queued = account.queued();
  const bool retry = place == Place::kRetry;
  std::list<uint64_t>& list = retry ? account.retries : account.jobs;
  queued_[job] = {retry, list.insert(place == Place::kFront ? list.begin() : list.end(), job.seq)};
  Group& group = groups_[account.group];
  ++(retry ? group.retries : group.jobs);
  if (!was_queued) seat(account);
}

std::optional<double> FairQueue::lowest(std::span<const uint32_t> groups) const {
  std::optional<double> level;
  for (const uint32_t id : groups) {
    const auto group = groups_.find(id);
    if (group == groups_.end()) continue;
    for (const auto& [rank, tier] : group->second.tiers)
      if (rank != kAbsent) level = std::min(level.value_or((*tier.begin())->level), (*tier.begin())->level);
  }
  return level;
}

void FairQueue::set_absent(const wire::Uuid& session, bool absent) {
  Account& account = *find(session);
  unseat(account);
  account.absent = absent;
  seat(account);
}

void FairQueue::rise(const wire::Uuid& session, double level) {
  Account& account = *find(session);
  account.level = std::max(account.level, level - options_.credit_s * scale(clock_.now()));
}

void FairQueue::sink(const wire::Uuid& session, double level) {
  Account* account = find(session);
  if (account && level < account->level) change_level(*account, level);
}

// Takes the job out of its account and its group; the account's place in its tier is the caller's business.
void FairQueue::take(Account& account, const Where& where) {
  Group& group = groups_.at(account.group);
  --(where.retry ? group.retries : group.jobs);
  (where.retry ? account.retries : account.jobs).erase(where.at);
  if (group.jobs + group.retries == 0) groups_.erase(account.group);
}

bool FairQueue::erase(const JobKey& job) {
  const auto it = queued_.find(job);
  if (it == queued_.end()) return false;
  Account& account = *find(job.session);
  unseat(account);
  take(account, it->second);
  seat(account);
  queued_.erase(it);
  return true;
}

// The highest rank below `below` with queued jobs.
std::optional<int64_t> FairQueue::next_rank(std::span<const uint32_t> groups, std::optional<int64_t> below) const {
  std::optional<int64_t> best;
  for (const uint32_t id : groups) {
    const auto group = groups_.find(id);
    if (group == groups_.end()) continue;
    const auto& tiers = group->second.tiers;
    const auto tier = below ? tiers.upper_bound(*below) : tiers.begin();
    if (tier != tiers.end() && (!best || tier->first > *best)) best = tier->first;
  }
  return best;
}

std::optional<FairQueue::Candidate> FairQueue::best_of(std::span<const uint32_t> groups, int64_t rank,
                                                       const JobOk& job_ok) const {
  std::optional<Candidate> best;
  for (const uint32_t id : groups) {
    const auto group = groups_.find(id);
    if (group == groups_.end()) continue;
    const auto tier = group->second.tiers.find(rank);
    if (tier == group->second.tiers.end()) continue;
    for (Account* account : tier->second) {
      if (best && ByLevel()(best->account, account)) break;
      const auto retry = std::find_if(account->retries.begin(), account->retries.end(), [&](uint64_t seq) {
        return job_ok({account->session, seq});
      });
      if (retry != account->retries.end())
        best = Candidate{account, &account->retries, retry, 0};
      else if (!account->jobs.empty())
        best = Candidate{account, &account->jobs, account->jobs.begin(), 0};
      else
        continue;  // all it has was lost on this device: the next session
      break;
    }
  }
  return best;
}

// One candidate from each priority, the highest first: the highest one, unless the debt owed to lower priorities pays
// for one of theirs.
const FairQueue::Candidate& FairQueue::choose(const std::vector<Candidate>& by_priority) {
  const auto cost = [](const Candidate& c) { return std::max(c.estimate, kLeastCost); };
  if (owed_.size() > kMaxOwed) owed_.clear();
  size_t chosen = 0;
  while (chosen + 1 < by_priority.size() &&
         owed_[by_priority[chosen].account->priority] >= cost(by_priority[chosen + 1]))
    ++chosen;
  for (size_t i = 0; i < chosen; ++i) owed_[by_priority[i].account->priority] -= cost(by_priority[chosen]);
  if (chosen + 1 < by_priority.size())
    owed_[by_priority[chosen].account->priority] +=
        cost(by_priority[chosen]) * options_.lower_share / (1 - options_.lower_share);
  return by_priority[chosen];
}

std::optional<FairQueue::Picked> FairQueue::pick(std::span<const uint32_t> groups, double slowness,
                                                 const JobOk& job_ok) {
  rebase();
  std::vector<Candidate> by_priority;
  for (auto rank = next_rank(groups, std::nullopt); rank; rank = next_rank(groups, rank)) {
    if (*rank == kAbsent && !by_priority.empty()) break;
    auto candidate = best_of(groups, *rank, job_ok);
    if (!candidate) continue;
    candidate->estimate = (candidate->account->estimate >= 0 ? candidate->account->estimate : mean_) * slowness;
    by_priority.push_back(*candidate);
  }
  if (by_priority.empty()) return std::nullopt;
  const Candidate chosen = choose(by_priority);
  Account& account = *chosen.account;
  const Picked picked{{account.session, *chosen.job}, chosen.estimate};
  unseat(account);
  take(account, {chosen.list == &account.retries, chosen.job});
  account.level += picked.estimate * scale(clock_.now()) / account.weight;
  seat(account);
  queued_.erase(picked.job);
  return picked;
}

std::optional<double> FairQueue::settle(const wire::Uuid& session, double estimate, Clock::TimePoint charged,
                                        double seconds, double slowness, bool learn) {
  rebase();
  const double normal = seconds / slowness;
  if (learn) mean_ += kSmoothing * (normal - mean_);
  Account* account = find(session);
  if (!account) return std::nullopt;
  // Charged at the moment of pick(): how long the answer took must not make one session's seconds cheaper than
  // another's.
  change_level(*account, std::max(0.0, account->level + (seconds - estimate) * scale(charged) / account->weight));
  if (!learn) return std::nullopt;
  const double before = account->estimate;
  account->estimate = before < 0 ? normal : before + kSmoothing * (normal - before);
  return before > 0 ? std::optional(seconds / before) : std::nullopt;
}

size_t FairQueue::size(const wire::Uuid& session) const {
  const Account* account = find(session);
  return account ? account->jobs.size() + account->retries.size() : 0;
}

size_t FairQueue::size(uint32_t group) const {
  const auto it = groups_.find(group);
  return it == groups_.end() ? 0 : it->second.jobs + it->second.retries;
}

size_t FairQueue::retries(uint32_t group) const {
  const auto it = groups_.find(group);
  return it == groups_.end() ? 0 : it->second.retries;
}

double FairQueue::used(const wire::Uuid& session) const {
  const Account* account = find(session);
  return account ? account->level * account->weight / scale(clock_.now()) : 0;
}

}  // namespace hone::tracker
