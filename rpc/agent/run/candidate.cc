#include "rpc/agent/run/candidate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "compiler/ir/dlpack_type.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/zeroing_call.h"
#include "rpc/agent/pipe/core_wait.h"
#include "rpc/agent/pipe/frames.h"
#include "rpc/agent/run/cold_constants.h"
#include "rpc/agent/run/output_check.h"
#include "rpc/agent/run/sentinel.h"
#include "rpc/agent/run/tile_sentinel.h"
#include "rpc/agent/sandbox/sandbox.h"

namespace hone::agent {
namespace {

using wire::ResultStatus;

using Failure = CandidateFailure;

constexpr int64_t kFlushBytes = 64 << 20;

double seconds_since(Clock::TimePoint start) {
  return std::chrono::duration<double>(SteadyClock().now() - start).count();
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

// A tensor of one dimension, as entries take it.
struct FlatTensor {
  FlatTensor(void* data, DType dtype, int64_t elements) : shape(elements) {
    view.data = data;
    view.device = {kDLCPU, 0};
    view.ndim = 1;
    view.dtype = dlpack_type(dtype);
    view.shape = &shape;
  }
  FlatTensor(const FlatTensor&) = delete;
  FlatTensor& operator=(const FlatTensor&) = delete;

  int64_t shape;
  DLTensor view = {};
};

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
      close(task.confinement->files.descriptor());  // the last descriptor inherited from the runner
    }
    artifact_.emplace(value_or_fail(Artifact::load(module.path), "artifact"));
    workspace_ = value_or_fail(GuardedBuffer::make(info_.workspace_bytes), "workspace");
    std::memset(workspace_.data(), 0xFF, info_.workspace_bytes);  // NaNs: no kernel may count on zeros
  }

  // The kernel's next argument.
  void add_argument(void* data, DType dtype, int64_t elements) {
    arguments_.push_back(std::make_unique<FlatTensor>(data, dtype, elements));
    views_.push_back(&arguments_.back()->view);
  }

  // After all arguments were added: calls of each round read copies of the constants.
  void add_rounds(const ColdConstants& cold) {
    rounds_.assign(static_cast<size_t>(cold.rounds()), views_);
    for (size_t round = 1; round < rounds_.size(); ++round)
      for (size_t i = 0; i < cold.count(); ++i) {
        const DLTensor& own = *views_[cold.argument(i)];
        copies_.push_back(own);
        copies_.back().data = cold.copy(i, static_cast<int64_t>(round));
        rounds_[round][cold.argument(i)] = &copies_.back();
      }
  }

  // The data of all arguments.
  std::vector<const void*> data() const {
    std::vector<const void*> out;
    for (const DLTensor* t : views_) out.push_back(t->data);
    return out;
  }

  // After all arguments were added.
  int32_t call() const { return artifact_->entry()(views_.data(), count(), workspace_.data(), runtime()); }
  // Denormals are zeros to a call that is timed, as they are in artifacts unless somebody asks to keep them: outputs
  // that saturate (of a sigmoid, say) would otherwise cost ten times what they cost in a model.
  int32_t timed_call() {
    if (!rounds_.empty() && ++round_ == rounds_.size()) round_ = 0;
    const std::vector<const DLTensor*>& views = rounds_.empty() ? views_ : rounds_[round_];
    return zeroing_call(artifact_->entry(), views.data(), count(), workspace_.data(), runtime());
  }

  // `packed`: a buffer for each tensor that the prepack makes.
  int32_t prepack(size_t index, const void* logical, const std::vector<void*>& packed) const {
    const HoneEntry entry = artifact_->prepack(static_cast<int>(index));
    if (!entry) throw Failure{ResultStatus::kRunFailed, "the artifact lacks a prepack entry"};
    const PrepackInfo& prepack = info_.prepacks[index];
    const Param& p = info_.params[prepack.param];
    std::vector<std::unique_ptr<FlatTensor>> tensors;
    tensors.push_back(std::make_unique<FlatTensor>(const_cast<void*>(logical), p.dtype, element_count(p.shape)));
    for (size_t i = 0; i < packed.size(); ++i)
      tensors.push_back(std::make_unique<FlatTensor>(packed[i], prepack.tensors[i].dtype, prepack.tensors[i].elements));
    std::vector<const DLTensor*> args;
    for (const auto& t : tensors) args.push_back(&t->view);
    return entry(args.data(), static_cast<int32_t>(args.size()), workspace_.data(), runtime());
  }

  bool workspace_intact() const { return workspace_.intact(); }
  /// Null where one thread suffices.
  ThreadPool* pool() const { return pool_.get(); }
  /// How long this process's threads waited for a core.
  CoreWait waits() const { return waits_->total(); }
  uint64_t mapped_bytes() const { return mapped_->now(); }

 private:
  int32_t count() const { return static_cast<int32_t>(views_.size()); }
  const HoneRuntime* runtime() const { return pool_ ? pool_->runtime() : nullptr; }

  const ModuleInfo& info_;
  std::unique_ptr<ThreadPool> pool_;
  std::optional<CoreWaitCounter> waits_;
  std::optional<MappedBytes> mapped_;
  std::optional<Artifact> artifact_;
  GuardedBuffer workspace_;
  std::vector<std::unique_ptr<FlatTensor>> arguments_;
  std::vector<const DLTensor*> views_;
  std::vector<std::vector<const DLTensor*>> rounds_;  ///< empty: all calls take `views_`
  std::deque<DLTensor> copies_;
  size_t round_ = 0;
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

// The process's first step: it keeps the runner's memory and the channel to the runner, and closes all else.
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
      const int64_t elements = p.layout.physical_size();
      if (const auto prepack = info_.prepack_of(i)) {
        for (const PackedTensor& t : info_.prepacks[*prepack].tensors) add_own(i, t.dtype, t.elements);
      } else if (p.role == ParamRole::kOutput) {
        add_own(i, p.dtype, elements);
      } else {
        module_.add_argument(task.inputs[i]->data(), p.dtype, elements);
      }
    }
    if (task.cold_bytes == 0) return;
    cold_ = value_or_fail(ColdConstants::make(info_, task.cold_bytes), "copies of the constants");
    module_.add_rounds(*cold_);
  }

  void lock_down() const {
    uint64_t copies = 0;
    for (const Param& p : info_.params)
      if (p.role == ParamRole::kOutput) copies += 3 * static_cast<uint64_t>(element_count(p.shape) * p.dtype.bytes());
    agent::lock_down(task_, module_.mapped_bytes(), copies);
  }

  CheckReply check() {
    for (size_t k = 0; k < info_.prepacks.size(); ++k) {
      const uint32_t param = info_.prepacks[k].param;
      std::vector<void*> packed;
      for (OwnTensor& t : own_)
        if (t.param == param) packed.push_back(t.buffer.data());
      if (const int32_t code = module_.prepack(k, task_.inputs[param]->data(), packed); code != HONE_OK)
        throw failure_of(code);
    }
    return check_kernel(*this, info_, task_.expected);
  }

  TimeReply time(const TimeRequest& request) {
    TimeReply reply;
    if (cold_) cold_->fill(module_.data());
    const bool flush = request.flush_cache && !flush_.empty();
    if (flush)
      for (size_t i = 0; i < flush_.size(); i += 64) ++flush_[i];
    const CoreWait before = module_.waits();
    // The estimate comes from a colder or a disturbed call: where the calls took less time than expected, a few more
    // fill the repeat.
    const Clock::TimePoint start = SteadyClock().now();
    double seconds = 0;
    int32_t code = HONE_OK;
    do {
      const int64_t calls = flush ? 1 : calls_for(request.min_seconds - seconds);
      for (int64_t i = 0; i < calls && code == HONE_OK; ++i) code = module_.timed_call();
      reply.calls += calls;
      seconds = seconds_since(start);
      call_seconds_ = seconds / static_cast<double>(reply.calls);
    } while (code == HONE_OK && !flush && seconds < 0.95 * request.min_seconds);
    waited_ = module_.waits();
    reply.wait = {waited_.seconds - before.seconds, waited_.slices - before.slices};
    reply.seconds = call_seconds_;
    reply.sentinel = sentinel_.read();
    reply.tiles = read_tiles(module_.pool());
    if (code != HONE_OK)
      std::tie(reply.status, reply.message) = std::pair(ResultStatus::kRunFailed, failure_of(code).message);
    return reply;
  }

  void poison_outputs(uint8_t pattern) override {
    for (OwnTensor& t : own_)
      if (const Param& p = info_.params[t.param]; p.role == ParamRole::kOutput)
        poison(t.buffer.data(), p.dtype, p.layout.physical_size(), pattern);
  }

  double call_once() override {
    const Clock::TimePoint start = SteadyClock().now();
    const int32_t code = module_.call();
    call_seconds_ = seconds_since(start);
    if (code != HONE_OK) throw failure_of(code);
    for (const OwnTensor& t : own_)
      if (!t.buffer.intact())
        throw Failure{ResultStatus::kRunFailed,
                      fmt::format("the kernel wrote outside of '{}'", info_.params[t.param].name)};
    if (!module_.workspace_intact())
      throw Failure{ResultStatus::kRunFailed, "the kernel wrote outside of its workspace"};
    return call_seconds_;
  }

  const void* output(size_t param) override {
    return std::find_if(own_.begin(), own_.end(), [&](const OwnTensor& t) { return t.param == param; })->buffer.data();
  }

  // Keeps all cores busy for a while, as calls would, so that threads which wait for one of them show it. Waiting since
  // the last calls counts as well.
  TimeReply watch(double seconds) {
    TimeReply reply;
    reply.calls = 1;
    const Clock::TimePoint start = SteadyClock().now();
    int readings = 0;
    do {
      add(sentinel_.read(), &reply.sentinel);
      add(read_tiles(module_.pool()), &reply.tiles);
      ++readings;
    } while (seconds_since(start) < seconds);
    for (std::vector<double>* sums : {&reply.sentinel, &reply.tiles})
      for (double& s : *sums) s /= readings;
    reply.seconds = seconds_since(start);
    const CoreWait now = module_.waits();
    reply.wait = {now.seconds - waited_.seconds, now.slices - waited_.slices};
    waited_ = now;
    return reply;
  }

 private:
  // A tensor of this process alone: an output, or a prepack's result from a constant.
  struct OwnTensor {
    size_t param;
    GuardedBuffer buffer;
  };

  // The kernel's next argument.
  void add_own(size_t param, DType dtype, int64_t elements) {
    own_.push_back({param, value_or_fail(GuardedBuffer::make(elements * dtype.bytes()), info_.params[param].name)});
    module_.add_argument(own_.back().buffer.data(), dtype, elements);
  }

  static void add(const std::vector<double>& reading, std::vector<double>* sums) {
    sums->resize(reading.size());
    for (size_t i = 0; i < reading.size(); ++i) (*sums)[i] += reading[i];
  }

  int64_t calls_for(double seconds) const {
    return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(seconds / std::max(call_seconds_, 1e-9))), 1,
                               int64_t{1} << 30);
  }

  const CandidateTask& task_;
  const ModuleInfo& info_;
  LoadedModule module_;
  Sentinel sentinel_;
  std::vector<OwnTensor> own_;
  std::vector<unsigned char> flush_;
  std::optional<ColdConstants> cold_;
  CoreWait waited_;  ///< when last looked at
  double call_seconds_ = 0;
};

void reply_failure(int fd, const Failure& f) {
  CheckReply reply;
  reply.result.status = f.status;
  reply.result.message = f.message.substr(0, kMaxMessageText);
  (void)send_frame(fd, FrameKind::kCheckReply, reply);
}

// Runs `body`; an exception becomes the reply.
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

// Landlock rules apply to a single thread.
int32_t apply_rules(int64_t, int64_t, int32_t, void* files) {
  return static_cast<const FileRules*>(files)->apply() ? HONE_OK : HONE_PANIC;
}

}  // namespace

bool confine_threads(const Confinement& confinement, ThreadPool* pool) {
  auto* const files = const_cast<FileRules*>(&confinement.files);
  if (files->available()) {
    const int32_t code = pool ? pool->on_each(&apply_rules, files) : apply_rules(0, 1, 0, files);
    if (code != HONE_OK) return false;
  }
  return !confinement.filters || confinement.loading.apply();
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
    for (size_t i = 0; i < args.size(); ++i) {
      const Param& p = task.module->info.params[i];
      module.add_argument(args[i], p.dtype, p.layout.physical_size());
    }
    lock_down(task, module.mapped_bytes(), 0);
    CheckReply reply;
    const Clock::TimePoint start = SteadyClock().now();
    if (const int32_t code = module.call(); code != HONE_OK) throw failure_of(code);
    reply.first_call_seconds = seconds_since(start);
    (void)send_frame(fd, FrameKind::kCheckReply, reply);
  });
}

}  // namespace hone::agent
