#include "tracker/lease_table.h"

#include <algorithm>

namespace hone::tracker {
namespace {

constexpr double kMaxBudget = 1e8;  // seconds that a lease may last: three years, so that times stay times

// Roughly what it takes in memory.
size_t bytes_of(const Unclaimed& entry) {
  size_t bytes = 512;
  if (entry.result)
    for (const wire::CandidateResult& candidate : entry.result->candidates)
      bytes += 128 + candidate.message.size() + 8 * candidate.times.size();
  return bytes;
}

}  // namespace

const HeldLease& LeaseTable::insert(HeldLease lease) {
  const JobKey job = key_of(lease.id);
  OfDevice& of_device = by_device_[lease.device];
  of_device.jobs[lease.id.epoch] = job;
  of_device.budget_s += lease.budget_s;
  lease.latest = lease.granted + std::chrono::duration_cast<Clock::Duration>(
                                     std::chrono::duration<double>(std::min(of_device.budget_s, kMaxBudget)));
  by_agent_[lease.agent].insert(job);
  earliest_ = std::min(earliest_, lease.deadline);
  return leases_.insert_or_assign(job, std::move(lease)).first->second;
}

const HeldLease& LeaseTable::grant(const JobKey& job, const std::string& device, const std::string& agent,
                                   double estimate, double budget_s) {
  const auto now = clock_.now();
  return insert({{job.session, job.seq, next_epoch_++}, device, agent, now, now + duration_, {}, estimate, budget_s});
}

const HeldLease& LeaseTable::adopt(const wire::LeaseId& id, const std::string& device, const std::string& agent,
                                   double budget_s) {
  next_epoch_ = std::max(next_epoch_, id.epoch + 1);
  const auto now = clock_.now();
  return insert({id, device, agent, now, now + duration_, {}, 0, budget_s});
}

HeldLease* LeaseTable::find(const JobKey& job) {
  const auto it = leases_.find(job);
  return it == leases_.end() ? nullptr : &it->second;
}

HeldLease* LeaseTable::current(const wire::LeaseId& id) {
  HeldLease* lease = find(key_of(id));
  return lease && lease->id == id ? lease : nullptr;
}

bool LeaseTable::extend(const wire::LeaseId& id) {
  HeldLease* lease = current(id);
  if (lease) lease->deadline = std::min(clock_.now() + duration_, lease->latest);
  return lease != nullptr;
}

void LeaseTable::limit(const std::string& agent, Clock::Duration grace) {
  for (HeldLease* lease : of_agent(agent)) lease->deadline = std::min(lease->deadline, clock_.now() + grace);
  earliest_ = std::min(earliest_, clock_.now() + grace);
}

std::optional<HeldLease> LeaseTable::release(const JobKey& job) {
  const auto it = leases_.find(job);
  if (it == leases_.end()) return std::nullopt;
  HeldLease lease = std::move(it->second);
  leases_.erase(it);
  const auto of_device = by_device_.find(lease.device);
  of_device->second.jobs.erase(lease.id.epoch);
  of_device->second.budget_s -= lease.budget_s;
  if (of_device->second.jobs.empty()) by_device_.erase(of_device);
  if (const auto agent = by_agent_.find(lease.agent); agent->second.erase(job), agent->second.empty())
    by_agent_.erase(agent);
  return lease;
}

std::vector<HeldLease> LeaseTable::expire() {
  std::vector<JobKey> late;
  if (earliest_ > clock_.now()) return {};
  earliest_ = Clock::TimePoint::max();
  for (const auto& [job, lease] : leases_) {
    if (lease.deadline <= clock_.now())
      late.push_back(job);
    else
      earliest_ = std::min(earliest_, lease.deadline);
  }
  std::sort(late.begin(), late.end());  // the table's own order is no order
  std::vector<HeldLease> out;
  for (const JobKey& job : late) out.push_back(*release(job));
  return out;
}

std::vector<HeldLease*> LeaseTable::of_device(const std::string& device) {
  std::vector<HeldLease*> out;
  if (const auto it = by_device_.find(device); it != by_device_.end())
    for (const auto& [epoch, job] : it->second.jobs) out.push_back(find(job));
  return out;
}

std::vector<HeldLease*> LeaseTable::of_agent(const std::string& agent) {
  std::vector<HeldLease*> out;
  if (const auto it = by_agent_.find(agent); it != by_agent_.end())
    for (const JobKey& job : it->second) out.push_back(find(job));
  return out;
}

size_t LeaseTable::size_of_agent(const std::string& agent) const {
  const auto it = by_agent_.find(agent);
  return it == by_agent_.end() ? 0 : it->second.size();
}

uint64_t LeaseTable::oldest_of_device(const std::string& device) const {
  const auto it = by_device_.find(device);
  return it == by_device_.end() ? 0 : it->second.jobs.begin()->first;
}

void LeaseTable::end_all_of_device(const std::string& device) {
  for (HeldLease* lease : of_device(device)) lease->deadline = earliest_ = clock_.now();
}

// Takes it out of the orders as well.
Unclaimed LeaseTable::take_unclaimed(UnclaimedMap::iterator it) {
  Unclaimed entry = std::move(it->second);
  unclaimed_.erase(it);
  unclaimed_order_.erase(entry.order);
  unclaimed_bytes_ -= bytes_of(entry);
  const auto agent = unclaimed_of_agent_.find(entry.agent);
  agent->second.erase(entry.order);
  if (agent->second.empty()) unclaimed_of_agent_.erase(agent);
  return entry;
}

std::vector<Unclaimed> LeaseTable::keep_unclaimed(Unclaimed entry, Clock::Duration grace) {
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

std::optional<Unclaimed> LeaseTable::claim(const JobKey& job) {
  const auto it = unclaimed_.find(job);
  if (it == unclaimed_.end()) return std::nullopt;
  return take_unclaimed(it);
}

bool LeaseTable::is_unclaimed(const wire::LeaseId& id) const {
  const auto it = unclaimed_.find(key_of(id));
  return it != unclaimed_.end() && it->second.id == id;
}

std::vector<Unclaimed> LeaseTable::expire_unclaimed() {
  std::vector<Unclaimed> out;
  for (;;) {  // the grace is the same for all: the oldest ends first
    if (unclaimed_order_.empty()) return out;
    const auto oldest = unclaimed_.find(unclaimed_order_.begin()->second);
    if (oldest->second.deadline > clock_.now()) return out;
    out.push_back(take_unclaimed(oldest));
  }
}

void LeaseTable::forget_unclaimed(const std::string& agent) {
  const auto it = unclaimed_of_agent_.find(agent);
  if (it == unclaimed_of_agent_.end()) return;
  for (const uint64_t order : std::set<uint64_t>(it->second))
    take_unclaimed(unclaimed_.find(unclaimed_order_.at(order)));
}

void LeaseTable::forget_unclaimed(const wire::LeaseId& id, const std::string& agent) {
  const auto it = unclaimed_.find(key_of(id));
  if (it != unclaimed_.end() && it->second.id == id && it->second.agent == agent) take_unclaimed(it);
}

}  // namespace hone::tracker
