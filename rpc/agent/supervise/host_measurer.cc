#include "rpc/agent/supervise/host_measurer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "base/log.h"
#include "rpc/agent/run/measure_plan.h"

namespace hone::agent {
namespace {

using wire::ResultStatus;

constexpr double kStartSeconds = 30;    // LLVM's libraries from a cold disk
constexpr double kDevicesSeconds = 60;  // drivers may have to wake up their GPUs
constexpr double kLockSeconds = 300;    // how long other processes may keep the host's cores busy

// The runner keeps its own deadlines; this one is for a runner that hangs.
double longest_run(const RunRequest& r) {
  const double reference = r.reference ? r.reference->timeout_s : 0;
  return kLockSeconds + reference + 2 * r.deadline() * static_cast<double>(r.candidates.size());
}

// A module corrupted the builder: it builds for no other session any more.
Status malformed_answer() { return absl::InternalError("its answer is malformed"); }

}  // namespace

BuiltFile::~BuiltFile() {
  if (!module.path.empty()) unlink(module.path.c_str());
}

awaitable<DeviceList> list_devices(asio::io_context& io, std::vector<DeviceKind> kinds) {
  DeviceList none;
  std::vector<std::string> arguments = {"devices"};
  for (const DeviceKind kind : kinds) arguments.emplace_back(target_kind_of(kind));
  const auto ask = [](asio::io_context& context, std::vector<std::string> words) -> awaitable<StatusOr<DeviceList>> {
    StatusOr<std::shared_ptr<Worker>> worker = Worker::start(context, "hone-runner", words);
    if (!worker.ok()) co_return worker.status();
    const StatusOr<Frame> frame = co_await (*worker)->receive(kDevicesSeconds);
    if (!frame.ok()) co_return frame.status();
    co_return from_bytes<DeviceList>(frame->payload);
  };
  StatusOr<DeviceList> list = co_await ask(io, std::move(arguments));
  if (list.ok()) co_return *std::move(list);
  none.skipped.push_back("looking for GPUs failed: " + message_of(list.status()));
  co_return none;
}

HostMeasurer::HostMeasurer(asio::io_context& io, HostOptions options, ScratchFolder folder)
    : io_(io),
      options_(std::move(options)),
      folder_(std::move(folder)),
      memory_(
          share_memory(options_.memory > 0 ? options_.memory : usable_memory(), options_.devices, options_.builders)),
      slot_handed_out_(io) {
  for (int i = 0; i < memory_.builder_processes; ++i)
    slots_.push_back({BuilderFolder(fmt::format("{}/builder-{}", folder_.path(), i)), nullptr, std::nullopt, 0, false});
}

HostMeasurer::~HostMeasurer() = default;

std::vector<std::string> HostMeasurer::child_arguments(const std::string& folder, uint64_t memory) const {
  return {std::to_string(options_.threads), folder, to_string(options_.device), std::to_string(memory)};
}

std::vector<pid_t> HostMeasurer::builder_pids() const {
  std::vector<pid_t> out;
  for (const Slot& slot : slots_)
    if (slot.worker && slot.worker->pid() > 0) out.push_back(slot.worker->pid());
  return out;
}

awaitable<StatusOr<BuilderHello>> HostMeasurer::start_builder(Slot& slot) {
  // Removes everything the previous builder left: it may have died of it, or have worked for another session.
  if (Status cleared = slot.folder.clear(); !cleared.ok()) co_return cleared;
  StatusOr<std::shared_ptr<Worker>> worker =
      Worker::start(io_, "hone-builder", child_arguments(slot.folder.path(), memory_.builder_bytes));
  if (!worker.ok()) co_return worker.status();
  StatusOr<Frame> frame = co_await (*worker)->receive(kStartSeconds);
  if (!frame.ok()) co_return frame.status();
  StatusOr<BuilderHello> hello = from_bytes<BuilderHello>(frame->payload);
  if (hello.ok()) slot.worker = *worker;
  co_return hello;
}

// A GPU's runner answers only when its driver has started.
awaitable<StatusOr<RunnerHello>> HostMeasurer::start_runner() {
  StatusOr<std::shared_ptr<Worker>> worker =
      Worker::start(io_, "hone-runner", child_arguments(folder_.path(), memory_.runner_bytes));
  if (!worker.ok()) co_return worker.status();
  StatusOr<Frame> frame = co_await (*worker)->receive(kStartSeconds + (options_.device.is_gpu() ? kDevicesSeconds : 0));
  if (!frame.ok()) co_return frame.status();
  StatusOr<RunnerHello> hello = from_bytes<RunnerHello>(frame->payload);
  if (hello.ok() && !hello->error.empty()) co_return absl::UnavailableError(hello->error);
  if (hello.ok()) runner_ = *worker;
  co_return hello;
}

awaitable<StatusOr<HostInfo>> HostMeasurer::start() {
  const StatusOr<BuilderHello> builder = co_await start_builder(slots_[0]);
  if (!builder.ok()) co_return builder.status();
  HostInfo info{builder->target, builder->version, builder->device_compiler, builder->missing};
  host_target_ = info.target;
  if (options_.target.empty()) options_.target = info.target;
  if (!options_.runs) co_return info;
  const StatusOr<RunnerHello> runner = co_await start_runner();
  if (!runner.ok()) co_return runner.status();
  for (const std::string& m : runner->missing)
    if (std::find(info.missing.begin(), info.missing.end(), m) == info.missing.end()) info.missing.push_back(m);
  co_return info;
}

awaitable<HostMeasurer::Slot*> HostMeasurer::take_slot(wire::Uuid session) {
  const auto waiter = waiting_.insert(waiting_.end(), {session, nullptr});
  hand_out();
  while (!waiter->slot) co_await slot_handed_out_.wait();
  Slot& slot = *waiter->slot;
  waiting_.erase(waiter);
  if (slot.session && *slot.session != session) slot.worker.reset();
  slot.session = session;
  co_return &slot;
}

void HostMeasurer::release(Slot& slot) {
  slot.busy = false;
  slot.used = ++uses_;
  --busy_;
  hand_out();
}

// First to a waiter that can go on with a builder's process, then in order. A process that has built for no session is
// replaced first, then the one of the session that has built nothing for longest.
void HostMeasurer::hand_out() {
  const auto assign = [&](const std::function<bool(const Slot&, const Waiter&)>& fits) {
    for (Waiter& waiter : waiting_) {
      if (waiter.slot) continue;
      Slot* oldest = nullptr;
      for (Slot& s : slots_)
        if (busy_ < memory_.builders && !s.busy && fits(s, waiter) && (!oldest || s.used < oldest->used)) oldest = &s;
      if (!oldest) continue;
      oldest->busy = true;
      ++busy_;
      waiter.slot = oldest;
    }
  };
  assign([](const Slot& s, const Waiter& w) { return s.session == w.session; });
  assign([](const Slot& s, const Waiter&) { return !s.session; });
  assign([](const Slot&, const Waiter&) { return true; });
  slot_handed_out_.notify();
}

// The build's clock starts when the builder has the host lock.
awaitable<StatusOr<BuildReply>> HostMeasurer::build_on(Slot& slot, std::string request, double timeout_s, bool* begun) {
  if (!slot.worker) {
    const StatusOr<BuilderHello> hello = co_await start_builder(slot);
    if (!hello.ok()) co_return hello.status();
  }
  const std::shared_ptr<Worker> worker = slot.worker;
  const Status sent = co_await worker->send(FrameKind::kBuildRequest, std::move(request));
  if (!sent.ok()) co_return sent;
  const StatusOr<Frame> started = co_await worker->receive(kLockSeconds);
  if (!started.ok()) co_return started.status();
  if (started->kind != FrameKind::kBuildStarted) co_return malformed_answer();
  *begun = true;
  const auto watch = std::make_shared<FolderWatch>();
  asio::co_spawn(io_, watch_folder(io_, slot.folder, worker, watch), asio::detached);
  const StatusOr<Frame> frame = co_await worker->receive(timeout_s);
  watch->over = true;
  if (watch->filled)
    co_return absl::ResourceExhaustedError(
        fmt::format("its files took more than {} MiB", BuilderFolder::kMaxBytes >> 20));
  if (!frame.ok()) co_return frame.status();
  StatusOr<BuildReply> reply = from_bytes<BuildReply>(frame->payload);
  if (frame->kind != FrameKind::kBuildReply || !reply.ok() || !believable(*reply)) co_return malformed_answer();
  co_return reply;
}

awaitable<BuildOutcome> HostMeasurer::build(BuildOrder order) {
  const std::string name = fmt::format("{}.so", ++files_);
  // A CPU's reference is compiled as its candidates are.
  const bool for_host = order.purpose == BuildPurpose::kReference && options_.device.is_gpu();
  const std::string& target = !order.target.empty() ? order.target : for_host ? host_target_ : options_.target;
  if (elsewhere_ && (for_host || !options_.device.is_gpu()))
    if (auto built = co_await elsewhere_->build(order, target, folder_.path() + "/" + name))
      co_return *std::move(built);
  Slot& slot = *co_await take_slot(order.session);
  BuildRequest request;
  request.module = *order.module;
  request.target = target;
  request.output = slot.folder.path() + "/" + name;
  auto file = std::make_shared<BuiltFile>();
  file->module.path = folder_.path() + "/" + name;
  const std::string bytes = to_bytes(request);
  BuildOutcome out;
  // A second try only where the module is not to blame: another process killed the builder, or it died before it looked
  // at the module.
  for (int attempt = 0; attempt < 2; ++attempt) {
    bool begun = false;
    StatusOr<BuildReply> reply = co_await build_on(slot, bytes, order.timeout_s, &begun);
    if (reply.ok()) {
      out.status = reply->status;
      out.message = reply->message;
      out.seconds = reply->seconds;
      file->module.info = std::move(reply->info);
      const Status accepted =
          out.status == ResultStatus::kOk ? slot.folder.accept(name, file->module.path) : absl::OkStatus();
      if (!accepted.ok()) {
        out.status = ResultStatus::kBuildFailed;
        out.message = message_of(accepted);
      }
      if (out.status == ResultStatus::kOk) out.file = file;
      break;
    }
    const bool innocent =
        !begun || (slot.worker && slot.worker->was_killed() && !absl::IsResourceExhausted(reply.status()));
    slot.worker.reset();
    const bool timeout = absl::IsDeadlineExceeded(reply.status());
    out.status = timeout ? ResultStatus::kBuildTimeout : ResultStatus::kBuildFailed;
    out.message = timeout ? fmt::format("the compiler was still at work after {:.3g} s", order.timeout_s)
                          : "the compiler crashed: " + message_of(reply.status());
    if (timeout) out.seconds = order.timeout_s;
    if (!innocent) break;
  }
  release(slot);
  co_return out;
}

awaitable<StatusOr<Frame>> HostMeasurer::ask_runner(FrameKind kind, std::string payload, double seconds) {
  if (!runner_) {
    const StatusOr<RunnerHello> hello = co_await start_runner();
    if (!hello.ok()) co_return absl::UnavailableError(message_of(hello.status()));
  }
  const std::shared_ptr<Worker> worker = runner_;
  sending_ = true;
  Status sent = co_await worker->send(kind, std::move(payload));
  sending_ = false;
  if (sent.ok() && cancelled_) sent = co_await worker->send(FrameKind::kCancel, "");
  StatusOr<Frame> frame = absl::AbortedError(message_of(sent));
  if (sent.ok()) frame = co_await worker->receive(seconds);
  if (!frame.ok()) {
    log::warn("the runner was replaced: {}", message_of(frame.status()));
    runner_.reset();
  }
  co_return frame;
}

awaitable<RunReply> HostMeasurer::run(RunRequest request) {
  const std::string bytes = to_bytes(request);
  running_ = true;
  cancelled_ = false;
  std::string why;
  bool started = true;
  for (int attempt = 0; attempt < 2; ++attempt) {
    StatusOr<Frame> frame = co_await ask_runner(FrameKind::kRunRequest, bytes, longest_run(request));
    if (!frame.ok()) {
      why = message_of(frame.status());
      started = !absl::IsUnavailable(frame.status());
      if (absl::IsDeadlineExceeded(frame.status())) break;
      continue;  // not the candidate's doing: it runs in another process
    }
    StatusOr<RunReply> reply = from_bytes<RunReply>(frame->payload);
    running_ = false;
    if (reply.ok() && reply->candidates.size() == request.candidates.size()) co_return *reply;
    why = "its answer was malformed";
    break;
  }
  running_ = false;
  RunReply lost;
  lost.candidates.resize(request.candidates.size());
  for (wire::CandidateResult& c : lost.candidates) {
    c.status = started ? ResultStatus::kRunFailed : ResultStatus::kDeviceLost;
    c.message = (started ? "the runner failed: " : "the runner does not start: ") + why;
  }
  co_return lost;
}

void HostMeasurer::cancel_run() {
  if (!running_ || cancelled_) return;
  cancelled_ = true;
  // Not in the middle of a request: its sender finishes it.
  if (!runner_ || sending_) return;
  runner_->tell(FrameKind::kCancel, "");
}

}  // namespace hone::agent
