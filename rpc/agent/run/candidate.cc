#include "rpc/agent/run/candidate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "compiler/runtime/artifact.h"
#include "rpc/agent/pipe/core_wait.h"
#include "rpc/agent/pipe/frames.h"
#include "rpc/agent/run/output_check.h"
#include "rpc/agent/run/sentinel.h"
#include "rpc/agent/sandbox/sandbox.h"

namespace hone::agent {
namespace {

using wire::ResultStatus;

using Failure = CandidateFailure;

constexpr int64_t kFlushBytes = 64 << 20;

double seconds_since(Clock::TimePoint start) {
  return std::chrono::duration<double>(SteadyClock().now() - start).count();
}

DLDataType dlpack_type_of(DType t) {
  const uint8_t code = t.code == TypeCode::kBFloat ? kDLBfloat
                       : t.is_float()              ? kDLFloat
                       : t.code == TypeCode::kInt  ? kDLInt
                                                   : kDLUInt;
  return {code, static_cast<uint8_t>(t.is_bool() ? 8 : t.bits), 1};
}

Failure failure_of(int32_t code) {
  const Status status = status_of(code);
  return {code == HONE_FAULT ? ResultStatus::kRejected : ResultStatus::kRunFailed, message_of(status)};
}

template <class T>
T value_or_fail(StatusOr<T> value, const std::string& what) {
  if (!value.ok()) throw Failure{ResultStatus::kRunFailed, fmt::format("{}: {}", what, message_of(value.status()))};
  return std::move(*value);
}

// The tensors of one process and the calls on them.
class LoadedModule {
 public:
  LoadedModule(const BuiltModule& module, const CandidateTask& task) : info_(module.info) {
    ThreadPoolOptions options;
    options.workers = std::clamp(task.threads, 1, std::max(1, info_.workers));
    const bool pin = static_cast<int>(task.cpus.size()) >= options.workers;
    if (pin) options.cpus = task.cpus;
    if (options.workers > 1) pool_ = std::make_unique<ThreadPool>(options);
    if (pin) pin_this_thread(task.cpus[0]);
    waits_.emplace();  // after the threads
    mapped_.emplace();
    if (task.confinement) {
      if (!confine_threads(*task.confinement, pool_.get()))
        throw Failure{ResultStatus::kRunFailed, "the candidate's process could not be confined"};
      close(task.confinement->files.descriptor());  // the last of what was the runner's
    }
    artifact_.emplace(value_or_fail(Artifact::load(module.path), "artifact"));
    workspace_ = value_or_fail(GuardedBuffer::make(info_.workspace_bytes), "workspace");
    std::memset(workspace_.data(), 0xFF, info_.workspace_bytes);  // NaNs: no kernel may count on zeros
    tensors_.resize(info_.params.size());
    shapes_.resize(info_.params.size());
  }

  void set(size_t param, void* data) {
    shapes_[param] = info_.elements[param];
    DLTensor& t = tensors_[param];
    t = {};
    t.data = data;
    t.device = {kDLCPU, 0};
    t.ndim = 1;
    t.dtype = dlpack_type_of(info_.params[param].dtype);
    t.shape = &shapes_[param];
  }

  int32_t call() const {
    return artifact_->entry()(pointers_.data(), static_cast<int32_t>(pointers_.size()), workspace_.data(), runtime());
  }

  // Every tensor is set: from now on call() may be used.
  void finish() {
    for (const DLTensor& t : tensors_) pointers_.push_back(&t);
  }

  int32_t prepack(size_t param, const void* logical, void* packed) const {
    const HoneEntry entry = artifact_->prepack(info_.prepack[param]);
    if (!entry) throw Failure{ResultStatus::kRunFailed, "the artifact lacks a prepack entry"};
    const Param& p = info_.params[param];
    int64_t sizes[2] = {element_count(p.shape), info_.elements[param]};
    DLTensor pair[2] = {};
    for (int i = 0; i < 2; ++i) {
      pair[i].data = i == 0 ? const_cast<void*>(logical) : packed;
      pair[i].device = {kDLCPU, 0};
      pair[i].ndim = 1;
      pair[i].dtype = dlpack_type_of(p.dtype);
      pair[i].shape = &sizes[i];
    }
    const DLTensor* args[2] = {&pair[0], &pair[1]};
    return entry(args, 2, workspace_.data(), runtime());
  }

  bool workspace_intact() const { return workspace_.intact(); }
  /// Null where one thread is all.
  ThreadPool* pool() const { return pool_.get(); }
  /// How long this process's threads waited for a core.
  CoreWait waits() const { return waits_->total(); }
  uint64_t mapped_bytes() const { return mapped_->now(); }

 private:
  const HoneRuntime* runtime() const { return pool_ ? pool_->runtime() : nullptr; }

  const ModuleInfo& info_;
  std::unique_ptr<ThreadPool> pool_;
  std::optional<CoreWaitCounter> waits_;
  std::optional<MappedBytes> mapped_;
  std::optional<Artifact> artifact_;
  GuardedBuffer workspace_;
  std::vector<DLTensor> tensors_;
  std::vector<int64_t> shapes_;
  std::vector<const DLTensor*> pointers_;
};

// From here on a kernel may run. The filter applies to the pool's threads, too.
void lock_down(const CandidateTask& task, uint64_t mapped, uint64_t copies) {
  set_limits({.address_space = mapped > 0 ? mapped + copies + task.headroom : task.memory_limit,
              .cpu_seconds = task.cpu_seconds,
              .file_bytes = 1,
              .open_files = 0});
  if (task.confinement && task.confinement->filters && !task.confinement->loaded.apply())
    throw Failure{ResultStatus::kRunFailed, "the candidate's process could not be confined"};
}

// The process's first step: of what it has by being a copy of the runner it keeps its memory and the way to the runner.
void leave_the_runner(int fd, const CandidateTask& task) {
  close_others(fd, task.confinement ? task.confinement->files.descriptor() : -1);
  if (task.memory_limit > 0) set_limits({.address_space = MappedBytes().now() + task.memory_limit});
}

class Candidate final : public CheckedKernel {
 public:
  explicit Candidate(const CandidateTask& task)
      : task_(task), info_(task.module->info), module_(*task.module, task), sentinel_(module_.pool()) {
    if (task.flush_cache) flush_.assign(kFlushBytes, 1);
    for (size_t i = 0; i < info_.params.size(); ++i) {
      const Param& p = info_.params[i];
      const bool own = p.role == ParamRole::kOutput || info_.prepack[i] >= 0;
      if (own) buffers_.push_back(value_or_fail(GuardedBuffer::make(info_.elements[i] * p.dtype.bytes()), p.name));
      module_.set(i, own ? buffers_.back().data() : task.inputs[i]->data());
      if (own) owners_.push_back(i);
    }
    module_.finish();
  }

  void lock_down() const {
    uint64_t copies = 0;
    for (const size_t i : owners_)
      if (const Param& p = info_.params[i]; p.role == ParamRole::kOutput)
        copies += 3 * static_cast<uint64_t>(element_count(p.shape) * p.dtype.bytes());
    agent::lock_down(task_, module_.mapped_bytes(), copies);
  }

  CheckReply check() {
    for (size_t b = 0; b < owners_.size(); ++b)
      if (const size_t i = owners_[b]; info_.prepack[i] >= 0)
        if (const int32_t code = module_.prepack(i, task_.inputs[i]->data(), buffers_[b].data()); code != HONE_OK)
          throw failure_of(code);
    return check_kernel(*this, info_, task_.expected);
  }

  TimeReply time(const TimeRequest& request) {
    TimeReply reply;
    const bool flush = request.flush_cache && !flush_.empty();
    if (flush)
      for (size_t i = 0; i < flush_.size(); i += 64) ++flush_[i];
    const CoreWait before = module_.waits();
    // The estimate comes from a colder call or from a disturbed one: where the calls took less time, a few more make
    // the repeat full.
    const Clock::TimePoint start = SteadyClock().now();
    double seconds = 0;
    int32_t code = HONE_OK;
    do {
      const int64_t calls = flush ? 1 : calls_for(request.min_seconds - seconds);
      for (int64_t i = 0; i < calls && code == HONE_OK; ++i) code = module_.call();
      reply.calls += calls;
      seconds = seconds_since(start);
      call_seconds_ = seconds / static_cast<double>(reply.calls);
    } while (code == HONE_OK && !flush && seconds < 0.95 * request.min_seconds);
    waited_ = module_.waits();
    reply.wait = {waited_.seconds - before.seconds, waited_.slices - before.slices};
    reply.seconds = call_seconds_;
    reply.sentinel = sentinel_.read();
    if (code != HONE_OK)
      std::tie(reply.status, reply.message) = std::pair(ResultStatus::kRunFailed, failure_of(code).message);
    return reply;
  }

  void poison_outputs(uint8_t pattern) override {
    for (size_t b = 0; b < owners_.size(); ++b)
      if (const size_t i = owners_[b]; info_.params[i].role == ParamRole::kOutput)
        poison(buffers_[b].data(), info_.params[i].dtype, info_.elements[i], pattern);
  }

  double call_once() override {
    const Clock::TimePoint start = SteadyClock().now();
    const int32_t code = module_.call();
    call_seconds_ = seconds_since(start);
    if (code != HONE_OK) throw failure_of(code);
    for (size_t b = 0; b < owners_.size(); ++b)
      if (!buffers_[b].intact())
        throw Failure{ResultStatus::kRunFailed,
                      fmt::format("the kernel wrote outside of '{}'", info_.params[owners_[b]].name)};
    if (!module_.workspace_intact())
      throw Failure{ResultStatus::kRunFailed, "the kernel wrote outside of its workspace"};
    return call_seconds_;
  }

  const void* output(size_t param) override {
    const auto owner = std::find(owners_.begin(), owners_.end(), param);
    return buffers_[static_cast<size_t>(owner - owners_.begin())].data();
  }

  // Keeps all cores busy for a while, as calls would: what waits for one of them then has time to show. The wait for a
  // core since the last calls counts as well.
  TimeReply watch(double seconds) {
    TimeReply reply;
    reply.calls = 1;
    const Clock::TimePoint start = SteadyClock().now();
    int readings = 0;
    do {
      const std::vector<double> now = sentinel_.read();
      reply.sentinel.resize(now.size());
      for (size_t i = 0; i < now.size(); ++i) reply.sentinel[i] += now[i];
      ++readings;
    } while (seconds_since(start) < seconds);
    for (double& s : reply.sentinel) s /= readings;
    reply.seconds = seconds_since(start);
    const CoreWait now = module_.waits();
    reply.wait = {now.seconds - waited_.seconds, now.slices - waited_.slices};
    waited_ = now;
    return reply;
  }

 private:
  int64_t calls_for(double seconds) const {
    return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(seconds / std::max(call_seconds_, 1e-9))), 1,
                               int64_t{1} << 30);
  }

  const CandidateTask& task_;
  const ModuleInfo& info_;
  LoadedModule module_;
  Sentinel sentinel_;
  std::vector<GuardedBuffer> buffers_;  ///< outputs and prepacked constants, of the parameters owners_
  std::vector<size_t> owners_;
  std::vector<unsigned char> flush_;
  CoreWait waited_;  ///< when last looked at
  double call_seconds_ = 0;
};

void reply_failure(int fd, const Failure& f) {
  CheckReply reply;
  reply.result.status = f.status;
  reply.result.message = f.message.substr(0, kMaxMessageText);
  (void)send_frame(fd, FrameKind::kCheckReply, reply);
}

// Runs `body`; whatever it throws becomes the reply.
template <class Body>
[[noreturn]] void guarded(int fd, const Body& body) {
  try {
    body();
  } catch (const Failure& f) {
    reply_failure(fd, f);
  } catch (const std::bad_alloc&) {
    reply_failure(fd, {ResultStatus::kRunFailed, "out of memory"});
  } catch (const std::exception& e) {
    reply_failure(fd, {ResultStatus::kRunFailed, e.what()});
  }
  _exit(0);
}

// The files' rules are a thread's own: each worker takes the chunk that is its.
int32_t apply_rules(int64_t begin, int64_t end, int32_t, void* closure) {
  auto& [files, refused] = *static_cast<std::pair<const FileRules*, std::atomic<bool>>*>(closure);
  if (begin < end && !files->apply()) refused = true;
  return HONE_OK;
}

}  // namespace

bool confine_threads(const Confinement& confinement, ThreadPool* pool) {
  std::pair<const FileRules*, std::atomic<bool>> rules(&confinement.files, false);
  if (confinement.files.available()) {
    if (pool)
      pool->parallel_for(&apply_rules, &rules, pool->workers(), pool->workers());
    else
      apply_rules(0, 1, 0, &rules);
  }
  return !rules.second && (!confinement.filters || confinement.loading.apply());
}

void run_candidate(int fd, const CandidateTask& task) {
  guarded(fd, [&] {
    leave_the_runner(fd, task);
    Candidate candidate(task);
    candidate.lock_down();
    const CheckReply checked = candidate.check();
    if (!send_frame(fd, FrameKind::kCheckReply, checked).ok() || checked.result.status != ResultStatus::kOk) return;
    for (;;) {
      const StatusOr<Frame> frame = receive_frame(fd);
      if (!frame.ok()) return;
      const StatusOr<TimeRequest> request = from_bytes<TimeRequest>(frame->payload);
      if (!request.ok()) return;
      const TimeReply reply = request->watch ? candidate.watch(request->min_seconds) : candidate.time(*request);
      if (!send_frame(fd, FrameKind::kTimeReply, reply).ok()) return;
    }
  });
}

void run_reference(int fd, const CandidateTask& task, const std::vector<void*>& args) {
  guarded(fd, [&] {
    leave_the_runner(fd, task);
    LoadedModule module(*task.module, task);
    for (size_t i = 0; i < args.size(); ++i) module.set(i, args[i]);
    module.finish();
    lock_down(task, module.mapped_bytes(), 0);
    CheckReply reply;
    const Clock::TimePoint start = SteadyClock().now();
    if (const int32_t code = module.call(); code != HONE_OK) throw failure_of(code);
    reply.first_call_seconds = seconds_since(start);
    (void)send_frame(fd, FrameKind::kCheckReply, reply);
  });
}

}  // namespace hone::agent
