#include "tracker/dispatch/lease_table.h"

#include <algorithm>

namespace hone::tracker {
namespace {

constexpr double kMaxBudget = 1e8;  // seconds that a lease may last: three years, so that times stay times

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

const HeldLease* LeaseTable::find(const JobKey& job) const {
  const auto it = leases_.find(job);
  return it == leases_.end() ? nullptr : &it->second;
}

const HeldLease* LeaseTable::current(const wire::LeaseId& id) const {
  const HeldLease* lease = find(key_of(id));
  return lease && lease->id == id ? lease : nullptr;
}

bool LeaseTable::extend(const wire::LeaseId& id) {
  HeldLease* lease = find(key_of(id));
  if (!lease || lease->id != id) return false;
  lease->deadline = std::min(clock_.now() + duration_, lease->latest);
  return true;
}

void LeaseTable::limit(const std::string& agent, Clock::Duration grace) {
  if (const auto it = by_agent_.find(agent); it != by_agent_.end()) {
    for (const JobKey& job : it->second) {
      HeldLease& lease = leases_.at(job);
      lease.deadline = std::min(lease.deadline, clock_.now() + grace);
    }
  }
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

std::vector<const HeldLease*> LeaseTable::of_agent(const std::string& agent) const {
  std::vector<const HeldLease*> out;
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

}  // namespace hone::tracker
