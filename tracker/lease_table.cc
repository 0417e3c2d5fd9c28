#include "tracker/lease_table.h"

#include <algorithm>

namespace hone::tracker {

const HeldLease& LeaseTable::insert(HeldLease lease) {
  const JobKey job = key_of(lease.id);
  by_device_[lease.device][lease.id.epoch] = job;
  by_agent_[lease.agent].insert(job);
  return leases_.insert_or_assign(job, std::move(lease)).first->second;
}

const HeldLease& LeaseTable::grant(const JobKey& job, const std::string& device, const std::string& agent, double estimate, double budget_s) {
  const auto now = clock_.now();
  return insert({{job.session, job.seq, next_epoch_++}, device, agent, now, now + duration_, estimate, budget_s});
}

const HeldLease& LeaseTable::adopt(const wire::LeaseId& id, const std::string& device, const std::string& agent, double budget_s) {
  next_epoch_ = std::max(next_epoch_, id.epoch + 1);
  const auto now = clock_.now();
  return insert({id, device, agent, now, now + duration_, 0, budget_s});
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
  if (lease) lease->deadline = clock_.now() + duration_;
  return lease != nullptr;
}

void LeaseTable::limit(const std::string& agent, Clock::Duration grace) {
  for (HeldLease* lease : of_agent(agent)) lease->deadline = std::min(lease->deadline, clock_.now() + grace);
}

std::optional<HeldLease> LeaseTable::release(const JobKey& job) {
  const auto it = leases_.find(job);
  if (it == leases_.end()) return std::nullopt;
  HeldLease lease = std::move(it->second);
  leases_.erase(it);
  if (const auto device = by_device_.find(lease.device); device->second.erase(lease.id.epoch), device->second.empty()) by_device_.erase(device);
  if (const auto agent = by_agent_.find(lease.agent); agent->second.erase(job), agent->second.empty()) by_agent_.erase(agent);
  return lease;
}

std::vector<HeldLease> LeaseTable::expire() {
  std::vector<JobKey> late;
  for (const auto& [job, lease] : leases_)
    if (lease.deadline <= clock_.now()) late.push_back(job);
  std::sort(late.begin(), late.end());  // the table's own order is no order
  std::vector<HeldLease> out;
  for (const JobKey& job : late) out.push_back(*release(job));
  return out;
}

std::vector<HeldLease*> LeaseTable::of_device(const std::string& device) {
  std::vector<HeldLease*> out;
  if (const auto it = by_device_.find(device); it != by_device_.end())
    for (const auto& [epoch, job] : it->second) out.push_back(find(job));
  return out;
}

std::vector<HeldLease*> LeaseTable::of_agent(const std::string& agent) {
  std::vector<HeldLease*> out;
  if (const auto it = by_agent_.find(agent); it != by_agent_.end())
    for (const JobKey& job : it->second) out.push_back(find(job));
  return out;
}

std::vector<Unclaimed> LeaseTable::keep_unclaimed(Unclaimed entry, Clock::Duration grace) {
  std::vector<Unclaimed> dropped;
  const JobKey job = key_of(entry.id);
  entry.deadline = clock_.now() + grace;
  const auto it = unclaimed_.find(job);
  if (it != unclaimed_.end()) {
    // The higher epoch is the one in force; of one lease the result is worth more.
    const bool better = entry.id.epoch > it->second.id.epoch || (entry.id == it->second.id && entry.result);
    if (entry.id == it->second.id && !better) return dropped;
    if (entry.id != it->second.id) dropped.push_back(better ? it->second : entry);
    if (better) it->second = std::move(entry);
    return dropped;
  }
  if (unclaimed_.size() >= kMaxUnclaimed) {
    const auto oldest = std::min_element(unclaimed_.begin(), unclaimed_.end(),
                                         [](const auto& a, const auto& b) { return a.second.deadline < b.second.deadline; });
    dropped.push_back(std::move(oldest->second));
    unclaimed_.erase(oldest);
  }
  unclaimed_.emplace(job, std::move(entry));
  return dropped;
}

std::optional<Unclaimed> LeaseTable::claim(const JobKey& job) {
  const auto it = unclaimed_.find(job);
  if (it == unclaimed_.end()) return std::nullopt;
  Unclaimed entry = std::move(it->second);
  unclaimed_.erase(it);
  return entry;
}

bool LeaseTable::is_unclaimed(const wire::LeaseId& id) const {
  const auto it = unclaimed_.find(key_of(id));
  return it != unclaimed_.end() && it->second.id == id;
}

std::vector<Unclaimed> LeaseTable::expire_unclaimed() {
  std::vector<Unclaimed> out;
  for (auto it = unclaimed_.begin(); it != unclaimed_.end();) {
    if (it->second.deadline > clock_.now()) {
      ++it;
      continue;
    }
    out.push_back(std::move(it->second));
    it = unclaimed_.erase(it);
  }
  return out;
}

void LeaseTable::forget_unclaimed(const std::string& agent) {
  std::erase_if(unclaimed_, [&](const auto& entry) { return entry.second.agent == agent; });
}

void LeaseTable::forget_unclaimed(const wire::LeaseId& id) {
  std::erase_if(unclaimed_, [&](const auto& entry) { return entry.second.id == id; });
}

}  // namespace hone::tracker
