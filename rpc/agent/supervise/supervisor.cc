#include "rpc/agent/supervise/supervisor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/secure_hash.h"
#include "rpc/agent/run/measure_plan.h"

namespace hone::agent {
namespace {

using wire::CandidateResult;
using wire::Lease;
using wire::LeaseId;
using wire::ResultStatus;

constexpr int kTellOfDrift = 8;
constexpr int kFetches = 3;  // a module that was here and was dropped

// The values of a reference depend on the module, the seed and the samples, and on the session, whose builder compiled
// it.
Hash128 reference_key(const wire::Uuid& session, const wire::Reference& r) {
  std::string bytes = session.bytes() + r.module_hash.bytes();
  bytes.append(reinterpret_cast<const char*>(&r.seed), sizeof r.seed);
  for (const std::vector<int64_t>& indices : r.samples) {
    const uint64_t count = indices.size();
    bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
    bytes.append(reinterpret_cast<const char*>(indices.data()), indices.size() * sizeof(int64_t));
  }
  return secure_hash(bytes);
}

std::vector<Hash128> modules_of(const wire::Job& job) {
  std::vector<Hash128> out = job.modules;
  if (job.reference && !job.fake) out.push_back(job.reference->module_hash);
  return out;
}

std::string is_nowhere(Hash128 module) {
  return fmt::format("module {} was found neither at the tracker nor at the session", module.hex());
}

bool names(const std::vector<LeaseId>& ids, const LeaseId& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

void refuse(wire::JobResult& result, const std::string& why) {
  for (CandidateResult& c : result.candidates) c.status = ResultStatus::kRejected, c.message = why;
}

wire::MachineState around(const wire::DeviceHealth& before, const wire::DeviceHealth& after) {
  wire::MachineState m;
  m.governor = after.governor;
  m.temperature_before_c = before.temperature_c, m.temperature_after_c = after.temperature_c;
  m.clock_before_mhz = before.clock_mhz, m.clock_after_mhz = after.clock_mhz;
  m.throttled = before.throttled.empty() ? after.throttled : before.throttled;
  return m;
}

bool is_ok(const wire::JobResult& r) {
  return std::any_of(r.candidates.begin(), r.candidates.end(),
                     [](const CandidateResult& c) { return c.status == ResultStatus::kOk; });
}

}  // namespace

Supervisor::Supervisor(asio::io_context& io, SupervisorOptions options, TrackerLink link, Measurer& measurer,
                       const Clock& clock)
    : io_(io),
      options_(std::move(options)),
      link_(std::move(link)),
      measurer_(measurer),
      clock_(clock),
      changed_(io),
      fake_timer_(io),
      grace_timer_(io),
      throttle_timer_(io),
      modules_(options_.blob_bytes, clock) {}

double Supervisor::seconds_since(Clock::TimePoint t) const {
  return std::chrono::duration<double>(clock_.now() - t).count();
}

void Supervisor::start() {
  link_.want(2 * options_.batch);
  asio::co_spawn(io_, work(), asio::detached);
}

// --- what the tracker says
// ---------------------------------------------------------------------------------------------------

void Supervisor::on_leases(std::vector<Lease> leases) {
  Batch refused;
  std::vector<Hash128> wanted;
  for (Lease& lease : leases) {
    auto item = std::make_shared<Item>();
    item->arrived = clock_.now();
    item->result.device = options_.device;
    item->result.candidates.resize(lease.job.candidates());
    item->lease = std::move(lease);
    const std::vector<Hash128> modules = modules_of(item->lease.job);
    wanted.insert(wanted.end(), modules.begin(), modules.end());
    if (draining_)
      refused.push_back(item);
    else
      queue_.push_back(item);
  }
  if (refused.empty())
    request(wanted);
  else
    give_back(refused, "the agent is leaving");
  changed_.notify();
}

void Supervisor::request(const std::vector<Hash128>& wanted) {
  std::vector<Hash128> asked = modules_.ask(wanted);
  if (asked.empty()) return;
  link_.request_blobs(std::move(asked), [&io = io_, weak = std::weak_ptr(alive_)](std::vector<wire::Blob> found,
                                                                                  std::vector<Hash128> missing) {
    asio::post(io, [weak, found = std::move(found), missing = std::move(missing)]() mutable {
      if (const auto alive = weak.lock()) (*alive)->on_blobs(std::move(found), std::move(missing));
    });
  });
}

void Supervisor::on_blobs(std::vector<wire::Blob> found, std::vector<Hash128> missing) {
  // The answer may be about an earlier question, before another lease named the blob: that lease's session may have it.
  std::vector<Hash128> again;
  for (const ItemPtr& item : queue_)
    for (const Hash128 module : modules_of(item->lease.job))
      if (const auto asked = modules_.asked(module);
          asked && *asked < item->arrived && std::find(missing.begin(), missing.end(), module) != missing.end())
        again.push_back(module);
  modules_.put(std::move(found), missing);
  request(again);
  changed_.notify();
}

Supervisor::Batch Supervisor::take_queued(const std::function<bool(const Item&)>& which) {
  Batch taken;
  std::erase_if(queue_, [&](const ItemPtr& i) {
    if (!which(*i)) return false;
    taken.push_back(i);
    return true;
  });
  return taken;
}

void Supervisor::on_cancel(const std::vector<LeaseId>& ids) {
  uint32_t freed = 0;
  for (const ItemPtr& item : take_queued([&](const Item& i) { return names(ids, i.lease.id); }))
    item->cancelled = true, ++freed;
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
  const Batch returned = take_queued([&](const Item& i) { return names(ids, i.lease.id); });
  for (const ItemPtr& item : returned) item->cancelled = true;
  if (!returned.empty()) give_back(returned, "taken back");
  changed_.notify();
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
  Batch unstarted = take_queued([](const Item&) { return true; });
  for (const ItemPtr& item : unstarted) item->cancelled = true;
  for (const ItemPtr& item : active_) {
    if (item->ran || item->finished || item->cancelled || item == running_) continue;
    item->cancelled = true;
    unstarted.push_back(item);
  }
  if (!unstarted.empty()) give_back(unstarted, "the agent is leaving");
  changed_.notify();
}

// --- batches
// -----------------------------------------------------------------------------------------------------------------

awaitable<void> Supervisor::work() {
  double idle = 0;
  for (;;) {
    const Clock::TimePoint free = clock_.now();
    while (queue_.empty() && !draining_) co_await changed_.wait();
    idle += seconds_since(free);
    if (draining_) break;
    Batch batch = co_await next_batch();
    if (batch.empty()) continue;
    count_idle(*batch.front(), std::exchange(idle, 0));
    active_ = batch;
    co_await measure(std::move(batch));
    active_.clear();
    forget_modules();
  }
  if (drained_) drained_();
}

// Jobs that can be measured now, in the order in which they were leased: a job whose modules do not come holds up no
// other. Empty: there is nothing left to wait for.
awaitable<Supervisor::Batch> Supervisor::next_batch() {
  for (;;) {
    if (queue_.empty() || draining_) co_return Batch();
    Batch batch;
    bool more_soon = false;
    for (const ItemPtr& item : queue_) {
      if (batch.size() == options_.batch) break;
      if (is_ready(*item))
        batch.push_back(item);
      else
        more_soon = more_soon || was_just_asked_for(*item);
    }
    if (batch.size() == options_.batch || (!batch.empty() && !more_soon)) {
      // Held from now on: later blobs may push them out of the store.
      for (const ItemPtr& item : batch)
        for (const Hash128 module : modules_of(item->lease.job)) item->modules[module] = modules_.get(module);
      std::erase_if(queue_, [&](const ItemPtr& i) { return std::find(batch.begin(), batch.end(), i) != batch.end(); });
      co_return batch;
    }
    take_apart();
    if (!batch.empty()) {
      grace_timer_.expires_after(kGrace);
      grace_timer_.async_wait([weak = std::weak_ptr(alive_)](boost::system::error_code error) {
        if (const auto alive = weak.lock(); alive && !error) (*alive)->changed_.notify();
      });
    }
    co_await changed_.wait();
    grace_timer_.cancel();
  }
}

// Idle time between the jobs of two sessions is charged to neither.
void Supervisor::count_idle(Item& first, double seconds) {
  const wire::Uuid session = first.lease.id.session;
  if (session == last_session_) first.result.phases.idle = seconds;
  last_session_ = session;
}

void Supervisor::count_transfer(Item& item) const {
  for (const Hash128 module : modules_of(item.lease.job)) {
    const auto asked = modules_.asked(module), answered = modules_.answered(module);
    if (!asked || !answered) continue;
    const double seconds = std::chrono::duration<double>(*answered - std::max(*asked, item.arrived)).count();
    item.result.phases.transfer = std::max(item.result.phases.transfer, seconds);
  }
}

void Supervisor::drop_cancelled(Batch& batch) {
  std::erase_if(batch, [](const ItemPtr& i) { return i->cancelled || i->finished; });
}

awaitable<void> Supervisor::measure(Batch batch) {
  for (const ItemPtr& item : batch) count_transfer(*item);
  co_await build_all(batch);
  drop_cancelled(batch);
  for (const ItemPtr& item : batch) {
    item->modules.clear();
    if (item->lease.job.fake) continue;
    collect_builds(*item);
    if (!is_ok(item->result)) report(item);  // nothing to run
  }
  builds_.drop_beyond(options_.kept_builds);
  drop_cancelled(batch);
  for (const ItemPtr& item : batch) {
    if (item->cancelled) continue;
    co_await run_item(item);
    if (!item->cancelled) report(item);
  }
}

// --- modules and builds
// ------------------------------------------------------------------------------------------------------

std::vector<Supervisor::BuildKey> Supervisor::needs(const Item& item) {
  const wire::Job& job = item.lease.job;
  std::vector<BuildKey> out;
  for (const Hash128 module : job.modules) out.push_back({item.lease.id.session, module, BuildPurpose::kCandidate});
  if (job.reference && !job.fake)
    out.push_back({item.lease.id.session, job.reference->module_hash, BuildPurpose::kReference});
  return out;
}

bool Supervisor::is_ready(const Item& item) {
  const std::vector<BuildKey> all = needs(item);
  return std::all_of(all.begin(), all.end(), [&](const BuildKey& key) {
    return item.built.contains(key) || builds_.find(key) || modules_.is_missing(key.module) || modules_.get(key.module);
  });
}

bool Supervisor::waits_for_modules(const Item& item) const {
  const std::vector<Hash128> all = modules_of(item.lease.job);
  return std::any_of(all.begin(), all.end(), [&](Hash128 module) { return modules_.is_pending(module); });
}

bool Supervisor::was_just_asked_for(const Item& item) const {
  const std::vector<Hash128> all = modules_of(item.lease.job);
  return std::any_of(all.begin(), all.end(), [&](Hash128 module) {
    return modules_.is_pending(module) && clock_.now() - *modules_.asked(module) < kGrace;
  });
}

void Supervisor::forget_modules() {
  std::unordered_set<Hash128> needed;
  for (const ItemPtr& item : queue_)
    for (const Hash128 module : modules_of(item->lease.job)) needed.insert(module);
  modules_.keep_only(needed);
}

// Items whose modules were here, but never all at once: larger ones, perhaps of another session, pushed them out. They
// are fetched for one item of a session at a time, so that they do not push out each other.
void Supervisor::take_apart() {
  for (const ItemPtr& item : queue_) {
    if (item->apart || is_ready(*item) || waits_for_modules(*item) || !apart_.insert(item->lease.id.session).second)
      continue;
    item->apart = true;
    asio::co_spawn(io_, fetch_and_build(item), asio::detached);
  }
}

awaitable<void> Supervisor::fetch_and_build(ItemPtr item) {
  for (const BuildKey& key : needs(*item)) {
    if (item->cancelled) break;
    BuildOutcome outcome;
    if (const BuildOutcome* known = builds_.find(key)) {
      outcome = *known;
      outcome.seconds = 0;
    } else if (BlobCache::Blob module = co_await fetch(key.module)) {
      BuildOrder order;  // GCC 12 destroys members of a temporary twice where a coroutine waits
      order.module = std::move(module);
      order.purpose = key.purpose;
      order.timeout_s = build_seconds(item->lease.job, key.purpose);
      order.session = key.session;
      outcome = co_await measurer_.build(std::move(order));
    } else {
      outcome.status = ResultStatus::kBuildFailed;
      outcome.message = is_nowhere(key.module);
    }
    item->built[key] = std::move(outcome);
  }
  apart_.erase(item->lease.id.session);
  changed_.notify();
}

awaitable<BlobCache::Blob> Supervisor::fetch(Hash128 module) {
  BlobCache::Blob blob = modules_.get(module);
  for (int attempt = 0; !blob && !modules_.is_missing(module) && attempt < kFetches; ++attempt) {
    request({module});
    while (modules_.is_pending(module)) co_await changed_.wait();
    blob = modules_.get(module);
  }
  co_return blob;
}

// The modules of its candidates, or of its reference.
double Supervisor::build_seconds(const wire::Job& job, BuildPurpose purpose) const {
  const auto candidates = static_cast<double>(std::max<size_t>(1, job.modules.size()));
  return std::min(job.profile.build_timeout_s,
                  purpose == BuildPurpose::kReference ? options_.most_build_s : options_.most_build_s / candidates);
}

// Builds each module once, for all jobs of its session that name it. A module that failed in an earlier batch is tried
// again: the machine may have been at fault.
awaitable<void> Supervisor::build_all(const Batch& batch) {
  struct Wanted {
    BuildOrder order;
    Batch items;
  };
  std::map<BuildKey, Wanted> wanted;
  for (const ItemPtr& item : batch) {
    if (item->cancelled) continue;
    for (const BuildKey& key : needs(*item)) {
      if (item->built.contains(key)) continue;
      if (const BuildOutcome* known = builds_.find(key)) {
        (item->built[key] = *known).seconds = 0;  // this batch did not pay for it
        continue;
      }
      Wanted& w = wanted[key];
      const double seconds = build_seconds(item->lease.job, key.purpose);
      w.order = {item->modules[key.module], key.purpose,
                 w.items.empty() ? seconds : std::max(w.order.timeout_s, seconds), key.session};
      w.items.push_back(item);
    }
  }
  const auto left = std::make_shared<size_t>(wanted.size());
  for (auto& [key, w] : wanted)
    asio::co_spawn(io_, build_one(key, std::move(w.order), std::move(w.items), left), asio::detached);
  while (*left > 0) co_await changed_.wait();
}

awaitable<void> Supervisor::build_one(BuildKey key, BuildOrder order, Batch items, std::shared_ptr<size_t> left) {
  BuildOutcome outcome;
  if (order.module) {
    outcome = co_await measurer_.build(std::move(order));
  } else {
    outcome.status = ResultStatus::kBuildFailed;
    outcome.message = is_nowhere(key.module);
  }
  for (const ItemPtr& item : items) item->built[key] = outcome;
  if (outcome.file) builds_.put(key, std::move(outcome));
  --*left;
  changed_.notify();
}

void Supervisor::collect_builds(Item& item) {
  const wire::Job& job = item.lease.job;
  for (const auto& [key, outcome] : item.built) item.result.phases.build += outcome.seconds;
  for (size_t i = 0; i < job.modules.size(); ++i) {
    const BuildOutcome& build = item.built.at({item.lease.id.session, job.modules[i], BuildPurpose::kCandidate});
    item.result.candidates[i].status = build.status;
    item.result.candidates[i].message = build.message;
  }
  if (job.reference) {
    const BuildOutcome& reference =
        item.built.at({item.lease.id.session, job.reference->module_hash, BuildPurpose::kReference});
    for (CandidateResult& c : item.result.candidates) {
      if (reference.file || c.status != ResultStatus::kOk) continue;
      c.status = reference.status;
      c.message = "reference: " + reference.message;
    }
  }
}

// --- runs
// --------------------------------------------------------------------------------------------------------------------

awaitable<void> Supervisor::run_item(ItemPtr item) {
  running_ = item;
  item->ran = true;
  const wire::Job& job = item->lease.job;
  if (job.fake || job.build) {
    if (job.fake) co_await run_fake(item);
    if (job.build) refuse(item->result, "this agent does not build for other machines");
    running_ = nullptr;
    co_return;
  }
  RunRequest request;
  const wire::Uuid& session = item->lease.id.session;
  request.session = Hash128::from_bytes(session.bytes());
  request.profile = job.profile;
  request.most_seconds = options_.most_run_s / static_cast<double>(std::max<size_t>(1, job.modules.size()));
  std::vector<size_t> places;
  for (size_t i = 0; i < job.modules.size(); ++i) {
    if (item->result.candidates[i].status != ResultStatus::kOk) continue;
    request.candidates.push_back(item->built.at({session, job.modules[i], BuildPurpose::kCandidate}).file->module);
    places.push_back(i);
  }
  if (job.reference) {
    request.seed = job.reference->seed;
    ReferenceRequest& r = request.reference.emplace();
    r.module = item->built.at({session, job.reference->module_hash, BuildPurpose::kReference}).file->module;
    r.key = reference_key(session, *job.reference);
    r.samples = job.reference->samples;
    r.timeout_s = std::min(job.reference->timeout_s, options_.most_run_s);
  }
  const wire::DeviceHealth before = co_await wait_while_throttled(*item);
  take_reply(*item, co_await measurer_.run(std::move(request)), places, before);
  running_ = nullptr;
}

// `places`: of the candidates that ran, among all of the job's.
void Supervisor::take_reply(Item& item, RunReply reply, const std::vector<size_t>& places,
                            const wire::DeviceHealth& before) {
  std::string throttled;
  if (options_.glance) {
    item.result.machine = around(before, options_.glance());
    throttled = item.result.machine->throttled;
  }
  reply.drifted |= !throttled.empty();
  for (size_t k = 0; k < places.size(); ++k) item.result.candidates[places[k]] = std::move(reply.candidates[k]);
  item.result.phases.check += reply.check_seconds;
  item.result.phases.run += reply.run_seconds;
  item.result.phases.reference += reply.reference_seconds;
  item.result.sentinel_before = reply.sentinel_before;
  item.result.sentinel_after = reply.sentinel_after;
  item.result.drifted = reply.drifted;
  item.result.remeasured = reply.remeasured;
  tell_of_drift(reply.drifted, throttled);
}

// A hot machine is given time to cool down, once until it did. How it is then.
awaitable<wire::DeviceHealth> Supervisor::wait_while_throttled(const Item& item) {
  if (!options_.glance) co_return wire::DeviceHealth();
  constexpr std::chrono::milliseconds kBetween{500};
  const Clock::TimePoint begin = clock_.now();
  wire::DeviceHealth now = options_.glance();
  if (!now.throttled.empty() && !waited_in_vain_)
    log::warn("this machine is throttled ({}): waiting up to {:.0f} s", now.throttled, options_.most_throttled_s);
  while (!now.throttled.empty() && !waited_in_vain_ && !item.cancelled && !draining_) {
    boost::system::error_code ignored;
    throttle_timer_.expires_after(kBetween);
    co_await throttle_timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    now = options_.glance();
    waited_in_vain_ = seconds_since(begin) >= options_.most_throttled_s;
  }
  if (now.throttled.empty()) waited_in_vain_ = false;
  co_return now;
}

// Logged once for each time that the machine stays disturbed.
void Supervisor::tell_of_drift(bool drifted, const std::string& throttled) {
  drifted_in_a_row_ = drifted ? drifted_in_a_row_ + 1 : 0;
  if (drifted_in_a_row_ != kTellOfDrift) return;
  const std::string why = throttled.empty() ? "busy with other work and does not become quiet"
                                            : "throttled (" + throttled + ") and does not recover";
  log::warn("this machine is {}; it measures anyway, and marks the times as disturbed", why);
}

awaitable<void> Supervisor::run_fake(ItemPtr item) {
  CandidateResult& c = item->result.candidates.at(0);
  const wire::FakePayload& fake = *item->lease.job.fake;
  if (!options_.allow_fake) {
    refuse(item->result, "this agent does not accept fake jobs (--allow-fake)");
    co_return;
  }
  if (fake.run_seconds > 0) {
    boost::system::error_code ignored;
    fake_timer_.expires_after(
        std::chrono::microseconds(static_cast<int64_t>(std::min(fake.run_seconds, 3600.0) * 1e6)));
    co_await fake_timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  c.status = fake.status;
  if (c.status == ResultStatus::kOk) c.times = {fake.run_seconds};
  item->result.phases.run = fake.run_seconds;
}

// The agent's own deadline, shorter than the job asked for.
void Supervisor::say_limits(Item& item) const {
  const wire::Job& job = item.lease.job;
  if (job.fake) return;
  const auto candidates = static_cast<double>(job.modules.size());
  for (CandidateResult& c : item.result.candidates) {
    if (c.status == ResultStatus::kBuildTimeout && job.profile.build_timeout_s * candidates > options_.most_build_s)
      c.message += fmt::format(" (the agent's --max-build-timeout is {:.6g} s)", options_.most_build_s);
    if (c.status == ResultStatus::kRunTimeout && run_deadline(job.profile) * candidates > options_.most_run_s)
      c.message += fmt::format(" (the agent's --max-run-timeout is {:.6g} s)", options_.most_run_s);
  }
}

void Supervisor::report(const ItemPtr& item) {
  item->finished = true;
  say_limits(*item);
  link_.result(item->lease.id, item->result);
  if (!draining_) link_.want(1);
}

}  // namespace hone::agent
