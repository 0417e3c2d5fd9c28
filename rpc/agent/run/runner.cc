#include "rpc/agent/run/runner.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <numeric>

#include "compiler/runtime/artifact.h"
#include "rpc/agent/pipe/core_wait.h"
#include "rpc/agent/pipe/stopwatch.h"

namespace hone::agent {
namespace {

using wire::CandidateResult;
using wire::ResultStatus;

// Exclusive holds end at least this often, so that other processes get the cores.
constexpr double kLongestHold = 50e-3;
// While waiting for a quiet machine: each look takes longer than the time slice that a scheduler gives to another
// thread; between looks others may work.
constexpr double kWatchSeconds = 4e-3, kWatchDeadline = 2;
constexpr double kShortestWait = 0.05;
constexpr int kNapMs = 10;

// CPU limit of a candidate that survives the runner's deadline, and the runner itself.
uint64_t cpu_limit(double deadline, int threads) {
  return 10 + static_cast<uint64_t>(std::clamp(deadline, 0.0, 1e6) * 2 * std::max(threads, 1));
}

void fail(CandidateResult* r, ResultStatus status, std::string message) {
  r->status = status;
  r->message = std::move(message);
}

template <class T>
std::span<const T> span_of(const SharedMemory& m) {
  return {static_cast<const T*>(m.data()), m.bytes() / sizeof(T)};
}

// Parameters of a reference: (samples of each output, inputs, (value, tolerance, typical) of each output), see
// compiler/reference/reference.h.
constexpr size_t kTensorsOfAnOutput = 3;

struct ReferenceParams {
  size_t outputs = 0, inputs = 0;
  size_t first_input() const { return outputs; }
  size_t value(size_t output) const { return outputs + inputs + kTensorsOfAnOutput * output; }
};

// `counts`: samples of each output as the job says; 0: every element.
StatusOr<ReferenceParams> reference_params(const ModuleInfo& m, const std::vector<int64_t>& counts) {
  const size_t n = m.params.size(), outputs = counts.size();
  const auto wrong = [&] {
    return absl::InvalidArgumentError(
        fmt::format("the module is not a reference of {} outputs: it takes (samples…, inputs…, value, tolerance, "
                    "typical…)",
                    outputs));
  };
  if (outputs == 0 || n < outputs * (1 + kTensorsOfAnOutput) || !m.prepacks.empty()) return wrong();
  const ReferenceParams layout{outputs, n - outputs * (1 + kTensorsOfAnOutput)};
  for (size_t i = 0; i < n; ++i)
    if ((m.params[i].role == ParamRole::kOutput) != (i >= layout.value(0))) return wrong();
  for (size_t o = 0; o < outputs; ++o) {
    const Param& samples = m.params[o];
    if (samples.dtype != i64 || samples.shape.size() != 1) return wrong();
    const int64_t count = samples.shape[0];
    if (counts[o] != 0 && counts[o] != count)
      return absl::InvalidArgumentError(fmt::format("{} samples for a reference of {}", counts[o], count));
    for (size_t i = layout.value(o); i < layout.value(o) + kTensorsOfAnOutput; ++i)
      if (m.params[i].layout.physical_size() != count ||
          (m.params[i].dtype != f64 && (i != layout.value(o) || m.params[i].dtype != i64)))
        return wrong();
  }
  return layout;
}

std::vector<int64_t> counts_of(const std::vector<std::vector<int64_t>>& samples) {
  std::vector<int64_t> counts;
  for (const auto& indices : samples) counts.push_back(static_cast<int64_t>(indices.size()));
  return counts;
}

// A candidate's parameters are the reference's inputs, then its own outputs.
Status check_matches(const ModuleInfo& reference, const ReferenceParams& layout, const ModuleInfo& candidate) {
  if (candidate.params.size() != layout.inputs + layout.outputs)
    return absl::InvalidArgumentError(
        fmt::format("the module has {} parameters, its reference {} inputs and {} outputs", candidate.params.size(),
                    layout.inputs, layout.outputs));
  for (size_t i = 0; i < layout.inputs; ++i) {
    const Param &mine = candidate.params[i], &theirs = reference.params[layout.first_input() + i];
    if (mine.role == ParamRole::kOutput || mine.dtype != theirs.dtype || mine.shape != theirs.shape)
      return absl::InvalidArgumentError(
          fmt::format("parameter {} '{}' differs from the reference's '{}'", i, mine.name, theirs.name));
  }
  for (size_t i = layout.inputs; i < candidate.params.size(); ++i)
    if (candidate.params[i].role != ParamRole::kOutput)
      return absl::InvalidArgumentError(
          fmt::format("parameter {} '{}' is not an output, as the reference has it", i, candidate.params[i].name));
  return absl::OkStatus();
}

// Before any tensor is filled: one that is too large for a candidate's process would take the runner down with it.
Status too_large(double bytes, uint64_t limit) {
  return absl::ResourceExhaustedError(fmt::format("its tensors take {:.4g} MiB; a candidate may use {:.4g} MiB here",
                                                  bytes / (1 << 20), static_cast<double>(limit) / (1 << 20)));
}

Status check_size(const ModuleInfo& m, uint64_t limit) {
  double bytes = 0;
  for (const Param& p : m.params)
    bytes += static_cast<double>(std::max(p.layout.physical_size(), element_count(p.shape))) * p.dtype.bytes();
  return limit == 0 || bytes <= static_cast<double>(limit) ? absl::OkStatus() : too_large(bytes, limit);
}

}  // namespace

Runner::Runner(RunnerOptions options, CandidatePlace& place, HostLock& lock, HostLock* device_lock,
               const Confinement& confinement, int interrupt_fd)
    : options_(std::move(options)),
      place_(place),
      lock_(lock),
      device_lock_(device_lock),
      confinement_(confinement),
      interrupt_fd_(interrupt_fd),
      tensors_(options_.cache_bytes),
      others_(options_.machine_cores) {}

RunReply Runner::run(RunRequest request) {
  RunReply reply;
  reply.candidates.resize(request.candidates.size());
  ReferencePtr expected;
  if (request.reference) {
    const StatusOr<ReferencePtr> r = reference(request, &reply);
    if (!r.ok()) {
      const ResultStatus status = absl::IsCancelled(r.status()) ? ResultStatus::kCancelled : ResultStatus::kRunFailed;
      for (CandidateResult& c : reply.candidates) fail(&c, status, "reference: " + message_of(r.status()));
      return reply;
    }
    expected = *r;
  }
  // Several candidates are compared with each other, not with the best.
  std::optional<BestSoFar::Key> known;
  if (request.reference && request.candidates.size() == 1)
    known = BestSoFar::Key{request.session, request.reference->key, request.candidates[0].info.workers};
  if (known) request.profile.best_seconds = best_.at_most(*known, request.profile.best_seconds);
  const std::vector<CandidateRoom> rooms =
      divide_memory(request.candidates, room(), place_.is_on_host(), cold_bytes_of(request.profile));
  std::vector<CheckedCandidate> checked(request.candidates.size());
  {
    const Stopwatch waiting;
    // In the order of hold_for_timing(). Another process may be timing on the same device.
    const HostLock::Hold on_device = device_lock_ ? device_lock_->shared() : HostLock::Hold();
    const HostLock::Hold hold = lock_.shared();
    reply.wait_seconds += waiting.seconds();
    const Stopwatch checking;
    for (size_t i = 0; i < checked.size(); ++i) {
      if (const Status s = prepare(request.candidates[i], rooms[i], request, expected, &checked[i]); !s.ok())
        fail(&reply.candidates[i], absl::IsInvalidArgument(s) ? ResultStatus::kRejected : ResultStatus::kRunFailed,
             message_of(s));
      else
        check(checked[i], request, &reply.candidates[i]);
    }
    reply.check_seconds += checking.seconds();
  }
  time_all(checked, request, &reply);
  if (known && !reply.drifted)
    if (const CandidateResult& c = reply.candidates[0];
        c.status == ResultStatus::kOk && !c.censored && !c.times.empty())
      best_.took(*known, median(c.times));
  return reply;
}

// Memory for candidates; the rest is for inputs and references that are kept.
uint64_t Runner::room() const { return options_.memory_limit / 16 * 11; }

Status Runner::prepare(const BuiltModule& module, const CandidateRoom& share, const RunRequest& request,
                       const ReferencePtr& reference, CheckedCandidate* checked) {
  const ModuleInfo& info = module.info;
  CandidateTask& task = checked->task;
  HONE_RETURN_IF_ERROR(check_size(info, place_.memory_bytes()));
  if (!share.fits) return too_large(share.tensor_bytes, room() / request.candidates.size());
  if (reference) {
    HONE_ASSIGN_OR_RETURN(const ReferenceParams layout,
                          reference_params(request.reference->module.info, counts_of(request.reference->samples)));
    HONE_RETURN_IF_ERROR(check_matches(request.reference->module.info, layout, info));
    for (size_t o = 0; o < layout.outputs; ++o) {
      const ReferenceOutput& r = reference->outputs[o];
      const Param& output = info.params[layout.inputs + o];
      const auto samples = span_of<int64_t>(r.samples);
      const int64_t elements = element_count(output.shape);
      if (samples.empty() ||
          std::any_of(samples.begin(), samples.end(), [&](int64_t s) { return s < 0 || s >= elements; }) ||
          r.integers == output.dtype.is_float())
        return absl::InvalidArgumentError(fmt::format("the reference does not fit the output '{}'", output.name));
      task.expected.push_back({samples, r.integers ? std::span<const double>() : span_of<double>(r.values),
                               r.integers ? span_of<int64_t>(r.values) : std::span<const int64_t>(),
                               span_of<double>(r.tolerances), r.error_norm});
    }
    task.reference = reference;
  }
  uint32_t index = 0;
  for (size_t i = 0; i < info.params.size(); ++i) {
    const Param& p = info.params[i];
    if (p.role == ParamRole::kOutput) {
      task.inputs.push_back(nullptr);
      continue;
    }
    HONE_ASSIGN_OR_RETURN(TensorCache::Tensor tensor, info.prepack_of(i) ? tensors_.logical(p, index, request.seed)
                                                                         : tensors_.packed(p, index, request.seed));
    ++index;
    task.inputs.push_back(std::move(tensor));
  }
  task.module = &module;
  task.threads =
      request.profile.threads > 0 ? std::min<int>(request.profile.threads, options_.threads) : options_.threads;
  task.cpus = options_.cpus;
  task.flush_cache = request.profile.flush_cache;
  task.cold_bytes = cold_bytes_of(request.profile);
  task.memory_limit = options_.memory_limit;
  task.headroom = share.headroom;
  task.cpu_seconds = cpu_limit(request.deadline(), task.threads);
  task.confinement = &confinement_;
  return absl::OkStatus();
}

void Runner::check(CheckedCandidate& checked, const RunRequest& request, CandidateResult* result) {
  const Stopwatch watch;
  StatusOr<std::unique_ptr<RunningCandidate>> candidate = place_.start(checked.task);
  if (!candidate.ok()) return fail(result, ResultStatus::kRunFailed, message_of(candidate.status()));
  const auto answer = (*candidate)->check(request.deadline());
  checked.spent = watch.seconds() - (*candidate)->others_seconds();
  if (answer.failure) return fail(result, answer.failure->status, answer.failure->message);
  *result = answer.reply.result;
  if (result->status != ResultStatus::kOk) return;
  checked.candidate = *std::move(candidate);
  checked.plan.emplace(request.profile, answer.reply.first_call_seconds, /*interleaved=*/request.candidates.size() > 1);
}

// Gives the sentinel's reading to the quiet levels; false when the machine is not quiet.
bool Runner::read_sentinel(const TimeReply& timed, RunReply* reply) {
  if (timed.sentinel.empty()) return true;
  reply->sentinel_after = *std::max_element(timed.sentinel.begin(), timed.sentinel.end());
  if (reply->sentinel_before == 0) reply->sentinel_before = reply->sentinel_after;
  return quiet_.add(timed.sentinel, timed.tiles);
}

void Runner::finish(CheckedCandidate& checked, CandidateResult* result, RunReply* reply) {
  result->times = checked.plan->times();
  result->censored = checked.plan->censored();
  reply->drifted |= checked.plan->drifted();
  reply->remeasured += checked.plan->disturbed();
}

// One step of the plan.
Runner::Turn Runner::time_step(CheckedCandidate& checked, const RunRequest& request, CandidateResult* result,
                               RunReply* reply) {
  const double left = request.deadline() - checked.spent;
  const std::optional<MeasurePlan::Step> step = checked.plan->next(left);
  if (!step) {
    finish(checked, result, reply);
    return Turn::kDone;
  }
  if (step->kind == MeasurePlan::Kind::kWait) return Turn::kWait;
  const Stopwatch watch;
  const auto answer = checked.candidate->time({step->min_seconds, request.profile.flush_cache, false}, left);
  checked.spent += watch.seconds() - checked.candidate->others_seconds();
  if (answer.failure) {
    fail(result, answer.failure->status, answer.failure->message);
    return Turn::kDone;
  }
  const TimeReply& timed = answer.reply;
  if (timed.status != ResultStatus::kOk) {
    fail(result, timed.status, timed.message);
    return Turn::kDone;
  }
  const bool quiet_before = std::exchange(checked.quiet, read_sentinel(timed, reply));
  const double calls = static_cast<double>(std::max<int64_t>(1, timed.calls));
  const bool disturbed = !quiet_before || !checked.quiet || disturbs(timed.wait, timed.seconds * calls);
  checked.plan->took({timed.seconds, disturbed, std::max(0.0, timed.seconds - timed.wait.seconds / calls)});
  return Turn::kMore;
}

Runner::TimingHold Runner::hold_for_timing() {
  TimingHold hold;
  if (device_lock_) hold.device = device_lock_->exclusive();
  hold.host = place_.uses_cores() ? lock_.exclusive() : lock_.shared();
  return hold;
}

// Waits until the sentinel says twice in a row that the machine is quiet, or the wait budget is used up.
void Runner::wait_for_quiet(CheckedCandidate& checked, RunReply* reply) {
  if (wait_budget_.seconds() < kShortestWait) return;
  const Stopwatch waiting;
  int quiet_in_a_row = 0;
  while (waiting.seconds() < wait_budget_.seconds()) {
    {
      const TimingHold hold = hold_for_timing();
      const TimeRequest request{kWatchSeconds, false, true};
      const auto answer = checked.candidate->time(request, kWatchDeadline);
      if (answer.failure) break;  // its next step will say so
      checked.quiet = read_sentinel(answer.reply, reply) && !disturbs(answer.reply.wait, answer.reply.seconds);
    }
    quiet_in_a_row = checked.quiet ? quiet_in_a_row + 1 : 0;
    if (quiet_in_a_row == 2) break;
    pollfd cancel{interrupt_fd_, POLLIN, 0};
    if (poll(&cancel, interrupt_fd_ >= 0 ? 1 : 0, kNapMs) > 0) break;
  }
  wait_budget_.spend(waiting.seconds());
  checked.quiet = true;  // the next step is judged by its own readings
  reply->wait_seconds += waiting.seconds();
}

void Runner::time_all(std::vector<CheckedCandidate>& checked, const RunRequest& request, RunReply* reply) {
  std::vector<size_t> active;
  int own_cores = 1;
  for (size_t i = 0; i < checked.size(); ++i) {
    if (!checked[i].plan) continue;
    active.push_back(i);
    own_cores = std::max(own_cores, std::min(checked[i].task.threads, checked[i].task.module->info.workers));
  }
  others_.begin_job();
  place_.settle();
  while (!active.empty()) {
    std::optional<size_t> waits;
    {
      const Stopwatch waiting;
      const TimingHold hold = hold_for_timing();
      reply->wait_seconds += waiting.seconds();
      const std::optional<CpuAccount> before = cpu_account();
      const Stopwatch holding;
      while (!active.empty() && !waits && holding.seconds() < kLongestHold) {
        std::vector<size_t> still;
        for (const size_t i : active) {
          const Turn turn = time_step(checked[i], request, &reply->candidates[i], reply);
          if (turn == Turn::kWait) waits = i;
          if (turn == Turn::kDone)
            checked[i].candidate.reset();
          else
            still.push_back(i);
        }
        active = std::move(still);
        if (!active.empty()) place_.settle();
      }
      const double held = holding.seconds();
      look_for_others(held, own_cores, before);
      reply->run_seconds += held;
      wait_budget_.earn(held);
    }
    if (waits) wait_for_quiet(checked[*waits], reply);
  }
  reply->drifted |= others_.disturbs();
}

// Candidates on devices leave the cores to the host's builders.
void Runner::look_for_others(double held_seconds, int own_cores, const std::optional<CpuAccount>& before) {
  if (!before || !place_.uses_cores()) return;
  if (const std::optional<CpuAccount> after = cpu_account()) others_.add(held_seconds, own_cores, *before, *after);
}

StatusOr<Runner::ReferencePtr> Runner::reference(const RunRequest& request, RunReply* reply) {
  if (const ReferencePtr* found = references_.find(request.reference->key)) return *found;
  HONE_ASSIGN_OR_RETURN(ReferencePtr computed, compute_reference(request, reply));
  references_.put(request.reference->key, computed, static_cast<size_t>(computed->bytes()));
  references_.drop_beyond(static_cast<size_t>(options_.cache_bytes / 4));
  return computed;
}

int64_t Runner::Reference::bytes() const {
  int64_t sum = 0;
  for (const ReferenceOutput& o : outputs) sum += 8 * static_cast<int64_t>(kTensorsOfAnOutput) * o.count;
  return sum;
}

StatusOr<Runner::ReferencePtr> Runner::compute_reference(const RunRequest& request, RunReply* reply) {
  const ReferenceRequest& asked = *request.reference;
  const ModuleInfo& info = asked.module.info;
  HONE_ASSIGN_OR_RETURN(const ReferenceParams layout, reference_params(info, counts_of(asked.samples)));
  const CandidateRoom own = divide_memory({asked.module}, room(), true).at(0);
  if (!own.fits) return too_large(own.tensor_bytes, room());
  auto made = std::make_shared<Reference>();
  std::vector<void*> args;
  for (size_t o = 0; o < layout.outputs; ++o) {
    ReferenceOutput& r = made->outputs.emplace_back();
    r.count = info.params[o].shape[0];
    r.integers = !info.params[layout.value(o)].dtype.is_float();
    HONE_ASSIGN_OR_RETURN(r.samples, SharedMemory::make(r.count * 8));
    HONE_ASSIGN_OR_RETURN(r.values, SharedMemory::make(r.count * 8));
    HONE_ASSIGN_OR_RETURN(r.tolerances, SharedMemory::make(r.count * 8));
    int64_t* samples = static_cast<int64_t*>(r.samples.data());
    if (asked.samples[o].empty())
      std::iota(samples, samples + r.count, int64_t{0});
    else
      std::copy(asked.samples[o].begin(), asked.samples[o].end(), samples);
    r.samples.make_read_only();
    args.push_back(r.samples.data());
  }
  std::vector<TensorCache::Tensor> inputs;
  for (size_t i = 0; i < layout.inputs; ++i) {
    HONE_ASSIGN_OR_RETURN(TensorCache::Tensor tensor, tensors_.logical(info.params[layout.first_input() + i],
                                                                       static_cast<uint32_t>(i), request.seed));
    args.push_back(tensor->data());
    inputs.push_back(std::move(tensor));
  }
  std::vector<SharedMemory> typical;  // only needed for its norm
  for (ReferenceOutput& r : made->outputs) {
    HONE_ASSIGN_OR_RETURN(SharedMemory memory, SharedMemory::make(r.count * 8));
    typical.push_back(std::move(memory));
    args.insert(args.end(), {r.values.data(), r.tolerances.data(), typical.back().data()});
  }

  const Stopwatch waiting;
  const HostLock::Hold hold = lock_.shared();
  reply->wait_seconds += waiting.seconds();
  const Stopwatch watch;
  CandidateTask task;
  task.module = &asked.module;
  task.threads = options_.threads;
  task.memory_limit = options_.memory_limit;
  task.headroom = own.headroom;
  task.cpu_seconds = cpu_limit(asked.timeout_s, task.threads);
  task.confinement = &confinement_;
  HONE_ASSIGN_OR_RETURN(CandidateProcess process,
                        CandidateProcess::fork([&](int fd) { run_reference(fd, task, args); }));
  const auto answer = process.receive<CheckReply>(FrameKind::kCheckReply, asked.timeout_s, interrupt_fd_);
  reply->reference_seconds += watch.seconds();
  if (answer.failure && answer.failure->status == ResultStatus::kCancelled)
    return absl::CancelledError(answer.failure->message);
  if (answer.failure) return absl::InternalError(answer.failure->message);
  if (answer.reply.result.status != ResultStatus::kOk) return absl::InternalError(answer.reply.result.message);
  for (size_t o = 0; o < layout.outputs; ++o) {
    ReferenceOutput& r = made->outputs[o];
    r.values.make_read_only();
    r.tolerances.make_read_only();
    if (!r.integers)
      r.error_norm =
          error_norm_of(span_of<double>(r.values), span_of<double>(r.tolerances), span_of<double>(typical[o]));
  }
  return made;
}

}  // namespace hone::agent
