#include "tracker/fair_queue.h"

#include <algorithm>

namespace hone::tracker {
namespace {

// How many of a session's jobs are looked at for one the device may have: only jobs that were leased before are ever passed over.
constexpr int kLookahead = 64;
constexpr double kSmoothing = 0.2;

}  // namespace

FairQueue::Account* FairQueue::find(const wire::Uuid& session) {
  const auto it = by_session_.find(session);
  return it == by_session_.end() ? nullptr : &*it->second;
}

void FairQueue::add_session(const wire::Uuid& session, double weight, int32_t priority) {
  Account* account = find(session);
  if (!account) {
    accounts_.push_back({});
    by_session_[session] = std::prev(accounts_.end());
    account = &accounts_.back();
    account->session = session;
  }
  account->weight = weight;
  account->priority = priority;
}

void FairQueue::remove_session(const wire::Uuid& session) {
  const auto it = by_session_.find(session);
  if (it == by_session_.end()) return;
  for (const uint64_t seq : it->second->jobs) queued_.erase({session, seq});
  accounts_.erase(it->second);
  by_session_.erase(it);
}

void FairQueue::push(const JobKey& job, bool at_front) {
  std::list<uint64_t>& jobs = find(job.session)->jobs;
  queued_[job] = jobs.insert(at_front ? jobs.begin() : jobs.end(), job.seq);
}

bool FairQueue::erase(const JobKey& job) {
  const auto it = queued_.find(job);
  if (it == queued_.end()) return false;
  Account& account = *find(job.session);
  account.jobs.erase(it->second);
  if (account.jobs.empty()) account.deficit = std::min(account.deficit, 0.0);
  queued_.erase(it);
  return true;
}

FairQueue::Found FairQueue::first_ok(const Account& account, const std::function<bool(const JobKey&)>& job_ok) {
  int looked = 0;
  for (auto it = account.jobs.begin(); it != account.jobs.end() && looked < kLookahead; ++it, ++looked)
    if (job_ok({account.session, *it})) return it;
  return std::nullopt;
}

bool FairQueue::has(const std::function<bool(const wire::Uuid&)>& session_ok, const std::function<bool(const JobKey&)>& job_ok) const {
  return std::any_of(accounts_.begin(), accounts_.end(), [&](const Account& account) {
    return !account.jobs.empty() && session_ok(account.session) && first_ok(account, job_ok).has_value();
  });
}

std::optional<FairQueue::Picked> FairQueue::pick(const std::function<bool(const wire::Uuid&)>& session_ok,
                                                 const std::function<bool(const JobKey&)>& job_ok) {
  if (queued_.empty()) return std::nullopt;
  struct Candidate {
    std::list<Account>::iterator account;
    std::list<uint64_t>::const_iterator job;
  };
  std::vector<Candidate> candidates;
  int32_t priority = 0;
  for (auto it = accounts_.begin(); it != accounts_.end(); ++it) {
    if (it->jobs.empty() || (!candidates.empty() && it->priority < priority) || !session_ok(it->session)) continue;
    const Found job = first_ok(*it, job_ok);
    if (!job) continue;
    if (candidates.empty() || it->priority > priority) {
      candidates.clear();
      priority = it->priority;
    }
    candidates.push_back({it, *job});
  }
  if (candidates.empty()) return std::nullopt;

  const auto solvent = [](const Candidate& c) { return c.account->deficit > 0; };
  auto chosen = std::find_if(candidates.begin(), candidates.end(), solvent);
  if (chosen == candidates.end()) {
    // As many rounds as it takes until one of them is out of debt, each worth a quantum per weight.
    double rounds = -1;
    for (const Candidate& c : candidates) {
      const double needed = 1 - c.account->deficit / (quantum_ * c.account->weight);
      if (rounds < 0 || needed < rounds) rounds = needed;
    }
    for (const Candidate& c : candidates) c.account->deficit += rounds * quantum_ * c.account->weight;
    chosen = std::find_if(candidates.begin(), candidates.end(), solvent);
  }
  Account& account = *chosen->account;
  const Picked picked{{account.session, *chosen->job}, account.estimate >= 0 ? account.estimate : mean_};
  account.jobs.erase(chosen->job);
  queued_.erase(picked.job);
  account.deficit -= picked.estimate;
  if (account.jobs.empty()) account.deficit = std::min(account.deficit, 0.0);
  // Its turn lasts until the deficit is used up; then it goes to the end of the round.
  if (account.deficit <= 0) accounts_.splice(accounts_.end(), accounts_, chosen->account);
  return picked;
}

void FairQueue::settle(const wire::Uuid& session, double estimate, double seconds, bool learn) {
  if (learn) mean_ += kSmoothing * (seconds - mean_);
  Account* account = find(session);
  if (!account) return;
  account->deficit += estimate - seconds;
  if (learn) account->estimate = account->estimate < 0 ? seconds : account->estimate + kSmoothing * (seconds - account->estimate);
}

size_t FairQueue::size(const wire::Uuid& session) const {
  const auto it = by_session_.find(session);
  return it == by_session_.end() ? 0 : it->second->jobs.size();
}

}  // namespace hone::tracker
