#include "tracker/dispatch/earlier_leases.h"

#include <utility>

namespace hone::tracker {
namespace {

// The memory that it takes, roughly.
size_t bytes_of(const Unclaimed& entry) {
  size_t bytes = 512;
  if (entry.result && entry.result->built)
    bytes += entry.result->built->object.size() + entry.result->built->info.size();
  if (entry.result)
    for (const wire::CandidateResult& candidate : entry.result->candidates)
      bytes += 128 + candidate.message.size() + 8 * candidate.times.size();
  return bytes;
}

}  // namespace

// Takes it out of the orders as well.
Unclaimed EarlierLeases::take_unclaimed(UnclaimedMap::iterator it) {
  Unclaimed entry = std::move(it->second);
  unclaimed_.erase(it);
  unclaimed_order_.erase(entry.order);
  unclaimed_bytes_ -= bytes_of(entry);
  const auto agent = unclaimed_of_agent_.find(entry.agent);
  agent->second.erase(entry.order);
  if (agent->second.empty()) unclaimed_of_agent_.erase(agent);
  return entry;
}

std::vector<Unclaimed> EarlierLeases::keep_unclaimed(Unclaimed entry, Clock::Duration grace) {
  std::vector<Unclaimed> dropped;
  const JobKey job = key_of(entry.id);
  if (const auto it = unclaimed_.find(job); it != unclaimed_.end()) {
    // The higher epoch is the one in force; of one lease the result is worth more.
    const bool better = entry.id.epoch > it->second.id.epoch || (entry.id == it->second.id && entry.result);
    if (entry.id == it->second.id && !better) return dropped;
    if (!better) return {std::move(entry)};
    Unclaimed old = take_unclaimed(it);
    if (entry.id != old.id) dropped.push_back(std::move(old));
  }
  entry.deadline = clock_.now() + grace;
  entry.order = next_order_++;
  unclaimed_bytes_ += bytes_of(entry);
  unclaimed_order_[entry.order] = job;
  std::set<uint64_t>& of_agent = unclaimed_of_agent_[entry.agent];
  of_agent.insert(entry.order);
  const bool agent_has_too_many = of_agent.size() > kMaxUnclaimedOfAgent;
  const uint64_t oldest_of_agent = *of_agent.begin();
  unclaimed_.emplace(job, std::move(entry));
  if (agent_has_too_many) dropped.push_back(take_unclaimed(unclaimed_.find(unclaimed_order_.at(oldest_of_agent))));
  while (unclaimed_.size() > kMaxUnclaimed || unclaimed_bytes_ > kMaxUnclaimedBytes)
    dropped.push_back(take_unclaimed(unclaimed_.find(unclaimed_order_.begin()->second)));
  return dropped;
}

std::optional<Unclaimed> EarlierLeases::claim(const JobKey& job) {
  const auto it = unclaimed_.find(job);
  if (it == unclaimed_.end()) return std::nullopt;
  return take_unclaimed(it);
}

bool EarlierLeases::is_unclaimed(const wire::LeaseId& id) const {
  const auto it = unclaimed_.find(key_of(id));
  return it != unclaimed_.end() && it->second.id == id;
}

std::vector<Unclaimed> EarlierLeases::expire_unclaimed() {
  std::vector<Unclaimed> out;
  for (;;) {  // the grace is the same for all: the oldest ends first
    if (unclaimed_order_.empty()) return out;
    const auto oldest = unclaimed_.find(unclaimed_order_.begin()->second);
    if (oldest->second.deadline > clock_.now()) return out;
    out.push_back(take_unclaimed(oldest));
  }
}

void EarlierLeases::forget_unclaimed(const std::string& agent) {
  const auto it = unclaimed_of_agent_.find(agent);
  if (it == unclaimed_of_agent_.end()) return;
  for (const uint64_t order : std::set<uint64_t>(it->second))
    take_unclaimed(unclaimed_.find(unclaimed_order_.at(order)));
}

void EarlierLeases::forget_unclaimed(const wire::LeaseId& id, const std::string& agent) {
  const auto it = unclaimed_.find(key_of(id));
  if (it != unclaimed_.end() && it->second.id == id && it->second.agent == agent) take_unclaimed(it);
}

}  // namespace hone::tracker
