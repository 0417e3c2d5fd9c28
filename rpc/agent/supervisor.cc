#include "rpc/agent/supervisor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace hone::agent {
namespace {

using wire::CandidateResult;
using wire::Lease;
using wire::LeaseId;
using wire::ResultStatus;

constexpr int kTellOfDrift = 8;
constexpr int kFetches = 3;  // of a module that was here and is not any more

// The values of a reference depend on these three and on nothing else.
Hash128 reference_key(const wire::Reference& r) {
  std::string bytes = r.module_hash.bytes();
  bytes.append(reinterpret_cast<const char*>(&r.seed), sizeof r.seed);
  bytes.append(reinterpret_cast<const char*>(r.samples.data()), r.samples.size() * sizeof(int64_t));
  return hash_bytes(bytes);
}

std::vector<Hash128> hashes_of(const wire::Job& job) {
  std::vector<Hash128> out = job.modules;
  if (job.reference && !job.fake) out.push_back(job.reference->module_hash);
  return out;
}

bool names(const std::vector<LeaseId>& ids, const LeaseId& id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

bool is_ok(const wire::JobResult& r) {
  return std::any_of(r.candidates.begin(), r.candidates.end(), [](const CandidateResult& c) { return c.status == ResultStatus::kOk; });
}

}  // namespace

Supervisor::Supervisor(asio::io_context& io, SupervisorOptions options, TrackerLink link, Measurer& measurer, const Clock& clock)
    : io_(io),
      options_(std::move(options)),
      link_(std::move(link)),
      measurer_(measurer),
      clock_(clock),
      changed_(io),
      fake_timer_(io),
      blobs_(options_.blob_bytes) {}

double Supervisor::seconds_since(Clock::TimePoint t) const { return std::chrono::duration<double>(clock_.now() - t).count(); }

void Supervisor::start() {
  link_.want(2 * options_.batch);
  asio::co_spawn(io_, work(), asio::detached);
}

// --- what the tracker says ---------------------------------------------------------------------------------------------------

void Supervisor::on_leases(std::vector<Lease> leases) {
  if (!draining_) request_missing(leases);
  Batch refused;
  for (Lease& lease : leases) {
    auto item = std::make_shared<Item>();
    item->arrived = clock_.now();
    item->result.device = options_.device;
    item->result.candidates.resize(lease.job.candidates());
    item->lease = std::move(lease);
    if (draining_)
      refused.push_back(item);
    else
      queue_.push_back(item);
  }
  if (!refused.empty()) give_back(refused, "the agent is leaving");
  changed_.notify();
}

void Supervisor::request_missing(const std::vector<Lease>& leases) {
  std::vector<Hash128> wanted;
  for (const Lease& lease : leases) {
    for (const Hash128 hash : hashes_of(lease.job)) {
      BlobState& state = blob_states_[hash];
      if (state.pending && state.requested != Clock::TimePoint()) continue;  // on its way
      if (blobs_.get(hash)) continue;
      state.requested = clock_.now(), state.pending = true;  // named by another lease, too, it is asked for once
      wanted.push_back(hash);
    }
  }
  if (!wanted.empty()) request(std::move(wanted));
}

void Supervisor::request(std::vector<Hash128> wanted) {
  for (const Hash128 hash : wanted) blob_states_[hash] = {.requested = clock_.now()};
  link_.request_blobs(std::move(wanted), [&io = io_, weak = std::weak_ptr(alive_)](std::vector<wire::Blob> found, std::vector<Hash128> missing) {
    asio::post(io, [weak, found = std::move(found), missing = std::move(missing)]() mutable {
      if (const auto alive = weak.lock()) (*alive)->on_blobs(std::move(found), missing);
    });
  });
}

void Supervisor::on_blobs(std::vector<wire::Blob> found, const std::vector<Hash128>& missing) {
  const auto answered = [&](Hash128 hash, bool is_missing) {
    BlobState& state = blob_states_[hash];
    state.pending = false;
    state.missing = is_missing;
    state.answered = clock_.now();
  };
  for (wire::Blob& blob : found) {
    answered(blob.hash, false);
    blobs_.put(blob.hash, std::move(blob.data));
  }
  for (const Hash128 hash : missing) answered(hash, true);
  changed_.notify();
}

void Supervisor::on_cancel(const std::vector<LeaseId>& ids) {
  const size_t before = queue_.size();
  std::erase_if(queue_, [&](const ItemPtr& i) { return names(ids, i->lease.id); });
  uint32_t freed = static_cast<uint32_t>(before - queue_.size());
  for (const ItemPtr& item : active_) {
    if (item->finished || item->cancelled || !names(ids, item->lease.id)) continue;
    item->cancelled = true;
    ++freed;
    if (item == running_) {
      measurer_.cancel_run();
      fake_timer_.cancel();
    }
  }
  if (freed > 0 && !draining_) link_.want(freed);
  changed_.notify();
}

void Supervisor::on_take_back(const std::vector<LeaseId>& ids) {
  Batch returned;
  std::erase_if(queue_, [&](const ItemPtr& i) {
    if (!names(ids, i->lease.id)) return false;
    returned.push_back(i);
    return true;
  });
  if (!returned.empty()) give_back(returned, "taken back");
}

void Supervisor::give_back(const Batch& items, const std::string& reason) {
  std::vector<LeaseId> ids;
  for (const ItemPtr& item : items) ids.push_back(item->lease.id);
  link_.give_back(std::move(ids), reason);
  if (!draining_) link_.want(static_cast<uint32_t>(items.size()));
}

void Supervisor::drain(std::function<void()> done) {
  draining_ = true;
  drained_ = std::move(done);
  Batch unstarted(queue_.begin(), queue_.end());
  queue_.clear();
  for (const ItemPtr& item : active_) {
    if (item->ran || item->finished || item->cancelled || item == running_) continue;
    item->cancelled = true;
    unstarted.push_back(item);
  }
  if (!unstarted.empty()) give_back(unstarted, "the agent is leaving");
  changed_.notify();
}

// --- batches -----------------------------------------------------------------------------------------------------------------

awaitable<void> Supervisor::work() {
  for (;;) {
    const Clock::TimePoint ready = clock_.now();
    while (queue_.empty() && !draining_) co_await changed_.wait();
    if (draining_) break;
    count_idle(*queue_.front(), seconds_since(ready));
    Batch batch;
    while (!queue_.empty() && batch.size() < options_.batch) {
      batch.push_back(queue_.front());
      queue_.pop_front();
    }
    active_ = batch;
    co_await measure(std::move(batch));
    active_.clear();
    // States of blobs that nobody waits for any more would grow for ever.
    std::erase_if(blob_states_, [](const auto& entry) { return !entry.second.pending; });
  }
  if (drained_) drained_();
}

// What passes between two sessions is nobody's waste.
void Supervisor::count_idle(Item& first, double seconds) {
  const wire::Uuid session = first.lease.id.session;
  if (session == last_session_) first.result.phases.idle = seconds;
  last_session_ = session;
}

bool Supervisor::waits_for_blobs(const Item& item) const {
  if (item.cancelled) return false;
  for (const Hash128 hash : hashes_of(item.lease.job)) {
    const auto found = blob_states_.find(hash);
    if (found != blob_states_.end() && found->second.pending && found->second.requested != Clock::TimePoint()) return true;
  }
  return false;
}

void Supervisor::drop_cancelled(Batch& batch) {
  std::erase_if(batch, [](const ItemPtr& i) { return i->cancelled || i->finished; });
}

awaitable<void> Supervisor::measure(Batch batch) {
  while (std::any_of(batch.begin(), batch.end(), [&](const ItemPtr& i) { return waits_for_blobs(*i); })) co_await changed_.wait();
  for (const ItemPtr& item : batch) {
    for (const Hash128 hash : hashes_of(item->lease.job)) {
      const auto found = blob_states_.find(hash);
      if (found == blob_states_.end() || found->second.answered == Clock::TimePoint()) continue;
      const auto from = std::max(found->second.requested, item->arrived);
      const double seconds = std::chrono::duration<double>(found->second.answered - from).count();
      item->result.phases.transfer = std::max(item->result.phases.transfer, seconds);
    }
  }
  drop_cancelled(batch);
  co_await build_all(batch);
  drop_cancelled(batch);
  for (const ItemPtr& item : batch) {
    if (item->lease.job.fake) continue;
    collect_builds(*item);
    if (!is_ok(item->result)) report(item);  // nothing to run
  }
  size_t kept = 0;
  std::erase_if(builds_, [&](const auto& b) { return b.second.file && ++kept > options_.kept_builds; });
  drop_cancelled(batch);
  for (const ItemPtr& item : batch) {
    if (item->cancelled) continue;
    co_await run_item(item);
    if (!item->cancelled) report(item);
  }
}

awaitable<void> Supervisor::build_all(const Batch& batch) {
  // Each module once, however many jobs name it. Failures of earlier batches are tried again: the machine may have been at fault.
  std::erase_if(builds_, [](const auto& b) { return !b.second.file; });
  struct Wanted {
    double timeout_s = 0;
    BuildPurpose purpose = BuildPurpose::kCandidate;
  };
  std::map<Hash128, Wanted> wanted;
  for (const ItemPtr& item : batch) {
    const wire::Job& job = item->lease.job;
    for (const Hash128 hash : hashes_of(job)) wanted[hash].timeout_s = std::max(wanted[hash].timeout_s, job.profile.build_timeout_s);
    if (job.reference) wanted[job.reference->module_hash].purpose = BuildPurpose::kReference;
  }
  const auto left = std::make_shared<size_t>(0);
  for (const auto& [hash, how] : wanted) {
    const auto known = std::find_if(builds_.begin(), builds_.end(), [&, h = hash](const auto& b) { return b.first == h; });
    if (known != builds_.end()) {
      known->second.seconds = 0;  // this batch did not pay for it
      builds_.splice(builds_.begin(), builds_, known);
      continue;
    }
    ++*left;
    asio::co_spawn(io_, build_one(hash, how.purpose, how.timeout_s, left), asio::detached);
  }
  while (*left > 0) co_await changed_.wait();
}

bool Supervisor::is_missing(Hash128 hash) const {
  const auto found = blob_states_.find(hash);
  return found != blob_states_.end() && found->second.missing;
}

awaitable<void> Supervisor::build_one(Hash128 hash, BuildPurpose purpose, double timeout_s, std::shared_ptr<size_t> left) {
  BuildOutcome outcome;
  BlobCache::Blob blob = blobs_.get(hash);
  const bool pushed_out = !blob && !is_missing(hash);
  if (pushed_out) {
    // By larger ones, of another session perhaps. One at a time until it is built: these must not push out each other, nor be kept all at once.
    while (fetching_) co_await changed_.wait();
    fetching_ = true;
    for (int attempt = 0; !blob && !is_missing(hash) && attempt < kFetches; ++attempt) {
      request({hash});
      while (blob_states_[hash].pending) co_await changed_.wait();
      blob = blobs_.get(hash);
    }
  }
  if (blob) {
    outcome = co_await measurer_.build(blob, purpose, timeout_s);
  } else {
    outcome.status = ResultStatus::kBuildFailed;
    outcome.message = fmt::format("module {} is neither with the tracker nor with the session", hash.hex());
  }
  if (pushed_out) fetching_ = false;
  builds_.emplace_front(hash, std::move(outcome));
  --*left;
  changed_.notify();
}

void Supervisor::collect_builds(Item& item) {
  const wire::Job& job = item.lease.job;
  const auto outcome_of = [&](Hash128 hash) {
    const auto found = std::find_if(builds_.begin(), builds_.end(), [&](const auto& b) { return b.first == hash; });
    item.result.phases.build += found->second.seconds;
    return found->second;
  };
  for (size_t i = 0; i < job.modules.size(); ++i) {
    item.builds.push_back(outcome_of(job.modules[i]));
    item.result.candidates[i].status = item.builds[i].status;
    item.result.candidates[i].message = item.builds[i].message;
  }
  if (job.reference) {
    item.reference = outcome_of(job.reference->module_hash);
    for (CandidateResult& c : item.result.candidates) {
      if (item.reference.file || c.status != ResultStatus::kOk) continue;
      c.status = item.reference.status;
      c.message = "reference: " + item.reference.message;
    }
  }
}

awaitable<void> Supervisor::run_item(ItemPtr item) {
  running_ = item;
  item->ran = true;
  const wire::Job& job = item->lease.job;
  if (job.fake) {
    co_await run_fake(item);
    running_ = nullptr;
    co_return;
  }
  RunRequest request;
  request.session = hash_bytes(item->lease.id.session.bytes());
  request.profile = job.profile;
  std::vector<size_t> places;
  for (size_t i = 0; i < item->builds.size(); ++i) {
    if (item->result.candidates[i].status != ResultStatus::kOk) continue;
    request.candidates.push_back(item->builds[i].file->module);
    places.push_back(i);
  }
  if (job.reference) {
    request.seed = job.reference->seed;
    ReferenceRequest& r = request.reference.emplace();
    r.module = item->reference.file->module;
    r.key = reference_key(*job.reference);
    r.rel_error = job.reference->rel_error;
    r.max_error = job.reference->max_error;
    r.samples = job.reference->samples;
    r.timeout_s = job.reference->timeout_s;
  }
  RunReply reply = co_await measurer_.run(std::move(request));
  for (size_t k = 0; k < places.size(); ++k) item->result.candidates[places[k]] = std::move(reply.candidates[k]);
  item->result.phases.check += reply.check_seconds;
  item->result.phases.run += reply.run_seconds;
  item->result.phases.reference += reply.reference_seconds;
  item->result.sentinel_before = reply.sentinel_before;
  item->result.sentinel_after = reply.sentinel_after;
  item->result.drifted = reply.drifted;
  item->result.remeasured = reply.remeasured;
  tell_of_drift(reply.drifted);
  running_ = nullptr;
}

// Once for each time that the machine stays disturbed.
void Supervisor::tell_of_drift(bool drifted) {
  drifted_in_a_row_ = drifted ? drifted_in_a_row_ + 1 : 0;
  if (drifted_in_a_row_ == kTellOfDrift)
    log::warn("this machine is busy with something else and does not become quiet; times are taken all the same and marked as drifted");
}

awaitable<void> Supervisor::run_fake(ItemPtr item) {
  CandidateResult& c = item->result.candidates.at(0);
  const wire::FakePayload& fake = *item->lease.job.fake;
  if (!options_.allow_fake) {
    c.status = ResultStatus::kRejected;
    c.message = "this agent takes no fake jobs";
    co_return;
  }
  if (fake.run_seconds > 0) {
    boost::system::error_code ignored;
    fake_timer_.expires_after(std::chrono::microseconds(static_cast<int64_t>(std::min(fake.run_seconds, 3600.0) * 1e6)));
    co_await fake_timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  c.status = fake.status;
  if (c.status == ResultStatus::kOk) c.times = {fake.run_seconds};
  item->result.phases.run = fake.run_seconds;
}

void Supervisor::report(const ItemPtr& item) {
  item->finished = true;
  link_.result(item->lease.id, item->result);
  if (!draining_) link_.want(1);
}

}  // namespace hone::agent
