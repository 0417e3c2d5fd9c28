#include "tracker/state/memory_budget.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace hone::tracker {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kMostByDefault = size_t{8} << 30;

// The lowest memory.max from this process' cgroup (v2) up to the root; a file that it cannot read sets no limit.
size_t cgroup_limit() {
  size_t limit = SIZE_MAX;
  std::ifstream own("/proc/self/cgroup");
  for (std::string line; std::getline(own, line);) {
    if (line.rfind("0::", 0) != 0) continue;
    for (std::string path = line.substr(3);; path = path.substr(0, path.rfind('/'))) {
      std::ifstream file("/sys/fs/cgroup" + path + "/memory.max");
      if (size_t bytes = 0; file >> bytes) limit = std::min(limit, bytes);  // "max" is no number
      if (path.empty() || path.rfind('/') == std::string::npos) break;
    }
  }
  std::ifstream first("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  if (size_t bytes = 0; first >> bytes) limit = std::min(limit, bytes);
  return limit;
}

}  // namespace

MemoryPlan MemoryPlan::of(size_t total) {
  total = std::max(total, kLeast);
  MemoryPlan plan;
  plan.grpc = total / 4;
  plan.blobs = total / 8;
  plan.peers = total / 8 * 3;
  plan.share = plan.peers / 2;
  plan.message = std::min(total / 8, 96 * kMiB);
  return plan;
}

size_t default_memory_budget() {
  const auto machine = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return std::clamp(std::min(machine, cgroup_limit()) / 2, MemoryPlan::kLeast, kMostByDefault);
}

void MemoryBudget::Charge::give_back() {
  if (const auto account = std::exchange(account_, nullptr)) account->give(std::exchange(bytes_, 0));
}

bool MemoryBudget::Account::take_loose(size_t bytes) {
  if (used_.fetch_add(bytes) + bytes <= share_) {
    if (all_->used.fetch_add(bytes) + bytes <= all_->most) return true;
    all_->used -= bytes;
  }
  used_ -= bytes;
  return false;
}

std::optional<MemoryBudget::Charge> MemoryBudget::Account::take(size_t bytes) {
  if (!take_loose(bytes)) return std::nullopt;
  return Charge(shared_from_this(), bytes);
}

void MemoryBudget::Account::give(size_t bytes) {
  used_ -= bytes;
  all_->used -= bytes;
}

std::shared_ptr<MemoryBudget::Account> MemoryBudget::account(const std::string& name, size_t share) {
  std::lock_guard lock(mutex_);
  std::weak_ptr<Account>& entry = accounts_[name];
  std::shared_ptr<Account> account = entry.lock();
  const size_t limit = share > 0 ? share : share_;
  if (!account) {
    entry = account = std::make_shared<Account>(all_, limit);
    std::erase_if(accounts_, [](const auto& one) { return one.second.expired(); });
  }
  account->share_ = limit;
  return account;
}

}  // namespace hone::tracker
