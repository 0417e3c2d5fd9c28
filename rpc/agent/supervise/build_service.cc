#include "rpc/agent/supervise/build_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>

#include "base/key.h"
#include "base/secure_hash.h"
#include "rpc/agent/pipe/archive.h"
#include "rpc/wire/access/certificate_dates.h"

namespace hone::agent {
namespace {

// A build that fails for another reason than its module is answered run_failed: the board then builds it itself.
using wire::LeaseId;
using wire::ResultStatus;

// Boards cannot name each other's: a session of the tracker is one board's, and the tracker says whose it is.
wire::Uuid session_of(const wire::Lease& lease) {
  const Hash128 both = secure_hash(lease.id.session.bytes() + lease.job.build->scope.bytes());
  return *wire::Uuid::from_bytes(both.bytes());
}

wire::JobResult failed(ResultStatus status, std::string message) {
  wire::JobResult out;
  out.candidates.resize(1);
  out.candidates[0].status = status;
  out.candidates[0].message = std::move(message);
  return out;
}

}  // namespace

BuildService::BuildService(asio::io_context& io, BuildServiceOptions options, TrackerLink link, Measurer& measurer,
                           wire::SigningKey key)
    : io_(io), options_(std::move(options)), link_(std::move(link)), measurer_(measurer), key_(std::move(key)) {}

void BuildService::start() { link_.want(options_.slots); }

void BuildService::on_leases(std::vector<wire::Lease> leases) {
  std::vector<Hash128> wanted;
  for (wire::Lease& lease : leases) {
    const auto item = std::make_shared<Item>();
    item->lease = std::move(lease);
    items_.push_back(item);
    const wire::Job& job = item->lease.job;
    if (draining_) continue;
    if (!job.build || job.modules.size() != 1)
      answer(*item, failed(ResultStatus::kRejected, "this agent builds for boards, and measures nothing"));
    else if (job.build->codegen != options_.codegen)
      answer(*item, failed(ResultStatus::kRunFailed, fmt::format("this agent's code generator is {}, not {}",
                                                                 options_.codegen, job.build->codegen)));
    else if (target_kind(job.build->target) != "llvm")
      answer(*item, failed(ResultStatus::kRunFailed, "this agent builds for CPUs alone (llvm)"));
    else
      wanted.push_back(job.modules[0]);
  }
  if (draining_) return give_back([](const Item& i) { return !i.begun; }, "the agent is leaving");
  if (wanted.empty()) return;
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  link_.request_blobs(std::move(wanted), [&io = io_, weak = std::weak_ptr(alive_)](std::vector<wire::Blob> found,
                                                                                   std::vector<Hash128> missing) {
    asio::post(io, [weak, found = std::move(found), missing = std::move(missing)] {
      if (const auto alive = weak.lock()) (*alive)->on_blobs(found, missing);
    });
  });
}

void BuildService::on_blobs(const std::vector<wire::Blob>& found, const std::vector<Hash128>& missing) {
  const std::list<ItemPtr> items = items_;  // answers take them out
  for (const wire::Blob& blob : found) {
    const auto module = std::make_shared<const std::string>(blob.data);
    for (const ItemPtr& item : items) {
      if (item->begun || item->over || item->lease.job.modules[0] != blob.hash) continue;
      item->begun = true;
      asio::co_spawn(io_, build(item, module), asio::detached);
    }
  }
  for (const Hash128 hash : missing)
    for (const ItemPtr& item : items)
      if (!item->begun && !item->over && item->lease.job.modules[0] == hash)
        answer(*item, failed(ResultStatus::kRunFailed,
                             fmt::format("module {} was found neither at the tracker nor at the board", hash.hex())));
}

awaitable<void> BuildService::build(ItemPtr item, std::shared_ptr<const std::string> module) {
  const std::weak_ptr<BuildService*> alive = alive_;
  BuildOrder order;
  order.module = module;
  order.timeout_s = std::min(item->lease.job.profile.build_timeout_s, options_.most_build_s);
  order.session = session_of(item->lease);
  order.target = item->lease.job.build->target;
  const BuildOutcome outcome = co_await measurer_.build(std::move(order));
  if (alive.expired() || item->over) co_return;
  answer(*item, result_of(*item, *module, outcome));
}

// A failure that is the module's own is signed, as an object is. Others are not, and the board builds it itself.
wire::JobResult BuildService::refusal_of(const AskedObject& asked, const BuildOutcome& outcome) const {
  wire::JobResult out = failed(outcome.status, outcome.message);
  if (is_of_the_module(outcome.status))
    sign_refusal(key_, asked, wire::wall_clock(), out.candidates[0], out.built.emplace());
  return out;
}

wire::JobResult BuildService::result_of(const Item& item, const std::string& module,
                                        const BuildOutcome& outcome) const {
  const AskedObject asked{wire::sha256(module), *item.lease.job.build};
  if (!outcome.file) return refusal_of(asked, outcome);
  wire::SignedObject built;
  std::ifstream file(outcome.file->module.path, std::ios::binary);
  built.object.assign(std::istreambuf_iterator<char>(file), {});
  built.info = to_bytes(outcome.file->module.info);
  if (!file.good() && !file.eof()) return failed(ResultStatus::kRunFailed, "the object could not be read");
  if (built.object.size() > wire::kMaxObjectBytes || built.info.size() > wire::kMaxObjectInfoBytes)
    return failed(ResultStatus::kRunFailed, fmt::format("the object has {} bytes, at most {} are sent",
                                                        built.object.size(), wire::kMaxObjectBytes));
  sign(key_, asked, wire::wall_clock(), built);
  wire::JobResult out;
  out.candidates.resize(1);
  out.candidates[0].times = {outcome.seconds};
  out.phases.build = outcome.seconds;
  out.built = std::move(built);
  return out;
}

void BuildService::answer(Item& item, wire::JobResult result) {
  result.device = options_.device;
  link_.result(item.lease.id, std::move(result));
  end(item);
  if (!draining_) link_.want(1);
}

// It is no longer this device's.
void BuildService::end(Item& item) {
  item.over = true;
  items_.remove_if([&](const ItemPtr& i) { return i.get() == &item; });
  if (draining_ && items_.empty() && drained_) std::exchange(drained_, nullptr)();
}

void BuildService::on_cancel(const std::vector<LeaseId>& ids) {
  const std::list<ItemPtr> items = items_;
  uint32_t freed = 0;
  for (const ItemPtr& item : items)
    if (std::find(ids.begin(), ids.end(), item->lease.id) != ids.end()) end(*item), ++freed;
  if (freed > 0 && !draining_) link_.want(freed);
}

void BuildService::give_back(const std::function<bool(const Item&)>& which, const std::string& reason) {
  const std::list<ItemPtr> items = items_;
  std::vector<LeaseId> ids;
  for (const ItemPtr& item : items)
    if (which(*item)) ids.push_back(item->lease.id);
  if (ids.empty()) return;
  const auto freed = static_cast<uint32_t>(ids.size());
  link_.give_back(ids, reason);
  for (const ItemPtr& item : items)
    if (which(*item)) end(*item);
  if (!draining_) link_.want(freed);
}

void BuildService::on_take_back(const std::vector<LeaseId>& ids) {
  give_back([&](const Item& i) { return !i.begun && std::find(ids.begin(), ids.end(), i.lease.id) != ids.end(); },
            "taken back");
}

void BuildService::drain(std::function<void()> done) {
  draining_ = true;
  drained_ = std::move(done);
  give_back([](const Item& i) { return !i.begun; }, "the agent is leaving");
  if (items_.empty() && drained_) std::exchange(drained_, nullptr)();
}

}  // namespace hone::agent
