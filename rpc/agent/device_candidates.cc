#include "rpc/agent/device_candidates.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "rpc/agent/device_server.h"
#include "rpc/agent/sandbox_profile.h"

namespace hone::agent {
namespace {

using wire::ResultStatus;

constexpr double kStartSeconds = 60;  // a driver that wakes up a machine full of GPUs
constexpr size_t kPartBytes = size_t{16} << 20;
// Of inputs on the device; at most a quarter of its memory.
constexpr int64_t kMostKeptBytes = int64_t{4} << 30;
constexpr int kLookMs = 100;

StatusOr<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  if (!in || bytes.empty()) return absl::NotFoundError("the built module is not there");
  return bytes;
}

// Resident; 0 when the kernel does not say.
uint64_t resident_bytes(pid_t pid) {
  uint64_t pages = 0;
  std::ifstream statm(fmt::format("/proc/{}/statm", pid));
  uint64_t all = 0;
  statm >> all >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

// It is where its generation is: when the process was replaced, it is loaded and checked again before it is timed.
class DeviceCandidateHandle final : public RunningCandidate {
 public:
  DeviceCandidateHandle(DeviceCandidates& place, CheckRequest request, std::vector<DeviceCandidates::KeptPtr> tensors)
      : place_(place), request_(std::move(request)), tensors_(std::move(tensors)) {}

  ~DeviceCandidateHandle() override {
    if (place_.process_ && generation_ == place_.generation_) place_.process_->tell(FrameKind::kDrop, Drop{.tensors = {}, .candidates = {request_.id}});
  }

  // A process that was there already may have died of something else (the out-of-memory killer, a person): whatever a new one dies of is the
  // candidate's.
  Answer<CheckReply> check(double seconds) override {
    const bool was_there = place_.process_.has_value();
    Answer<CheckReply> answer = check_once(seconds);
    const bool died = answer.failure && answer.failure->status == ResultStatus::kRunFailed;
    return was_there && died ? check_once(seconds) : answer;
  }

  Answer<TimeReply> time(const TimeRequest& request, double seconds) override {
    if (generation_ != place_.generation_ || !place_.process_) {
      Answer<CheckReply> again = check(seconds);
      if (!again.failure && again.reply.result.status != ResultStatus::kOk) again.failure = CandidateFailure{again.reply.result.status, again.reply.result.message};
      if (again.failure) return {.reply = {}, .failure = again.failure};
    }
    return place_.ask<TimeReply>(FrameKind::kDeviceTimeRequest, DeviceTimeRequest{request_.id, request}, FrameKind::kTimeReply, seconds);
  }

 private:
  Answer<CheckReply> check_once(double seconds) {
    if (const Status s = place_.ensure_process(); !s.ok()) return {.reply = {}, .failure = CandidateFailure{ResultStatus::kRunFailed, message_of(s)}};
    for (const auto& tensor : tensors_) place_.put(*tensor);
    generation_ = place_.generation_;
    return place_.ask<CheckReply>(FrameKind::kCheckRequest, request_, FrameKind::kCheckReply, seconds);
  }

  DeviceCandidates& place_;
  const CheckRequest request_;
  const std::vector<DeviceCandidates::KeptPtr> tensors_;
  uint64_t generation_ = 0;
};

DeviceCandidates::DeviceCandidates(const DeviceSpec& spec, std::string folder, std::optional<PreparedSandbox> sandbox, int interrupt_fd)
    : spec_(spec), folder_(std::move(folder)), sandbox_(std::move(sandbox)), interrupt_fd_(interrupt_fd) {}

StatusOr<DeviceHello> DeviceCandidates::open() {
  HONE_ASSIGN_OR_RETURN(CandidateProcess process, CandidateProcess::fork([&](int fd) { serve_device(fd, spec_, folder_, sandbox_ ? &*sandbox_ : nullptr); }));
  Answer<DeviceHello> hello = process.receive<DeviceHello>(FrameKind::kDeviceHello, kStartSeconds, -1);
  if (hello.failure) return absl::UnavailableError(fmt::format("{} cannot be opened: {}", device_name(spec_), hello.failure->message));
  if (!hello.reply.error.empty()) return absl::UnavailableError(fmt::format("{} cannot be opened: {}", device_name(spec_), hello.reply.error));
  device_ = hello.reply.device;
  process_.emplace(std::move(process));
  ++generation_;
  return hello.reply;
}

Status DeviceCandidates::ensure_process() { return process_ ? absl::OkStatus() : open().status(); }

void DeviceCandidates::end_process() {
  process_.reset();
  there_.clear();
}

DeviceCandidates::KeptPtr DeviceCandidates::keep(std::shared_ptr<const void> owner, const void* data, int64_t bytes, bool on_device) {
  auto found = std::find_if(tensors_.begin(), tensors_.end(), [&](const KeptPtr& k) { return k->data == data && k->bytes == bytes; });
  if (found == tensors_.end())
    found = tensors_.insert(tensors_.begin(), std::make_shared<Kept>(Kept{++last_id_, std::move(owner), data, bytes, on_device}));
  tensors_.splice(tensors_.begin(), tensors_, found);
  return tensors_.front();
}

bool DeviceCandidates::put(const Kept& tensor) {
  if (!process_ || there_.contains(tensor.id)) return process_.has_value();
  const auto bytes = static_cast<size_t>(tensor.bytes);
  for (size_t offset = 0; offset < bytes; offset += kPartBytes) {
    const size_t part = std::min(kPartBytes, bytes - offset);
    if (!process_->tell(FrameKind::kPutTensor, PutTensor{tensor.id, tensor.on_device, bytes, offset, std::string(static_cast<const char*>(tensor.data) + offset, part)})) return false;
  }
  there_.insert(tensor.id);
  return true;
}

// The least recently used ones that no candidate needs.
void DeviceCandidates::forget_some() {
  const int64_t most = std::min(kMostKeptBytes, static_cast<int64_t>(device_.memory_bytes / 4));
  int64_t kept = 0;
  Drop drop;
  for (auto t = tensors_.begin(); t != tensors_.end();) {
    kept += (*t)->bytes;
    if (kept <= most || t->use_count() > 1) {
      ++t;
      continue;
    }
    if (there_.erase((*t)->id) > 0) drop.tensors.push_back((*t)->id);
    t = tensors_.erase(t);
  }
  if (process_ && !drop.tensors.empty()) process_->tell(FrameKind::kDrop, drop);
}

StatusOr<std::unique_ptr<RunningCandidate>> DeviceCandidates::start(const CandidateTask& task) {
  forget_some();
  CheckRequest r;
  r.id = ++last_id_;
  r.info = task.module->info;
  HONE_ASSIGN_OR_RETURN(r.code, read_file(task.module->path));
  std::vector<KeptPtr> tensors;
  const auto id_of = [&](KeptPtr kept) {
    tensors.push_back(kept);
    return kept->id;
  };
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    const TensorCache::Tensor& input = task.inputs[i];
    r.tensors.push_back(input ? id_of(keep(input, input->data(), r.info.elements[i] * r.info.params[i].dtype.bytes(), true)) : 0);
  }
  if (const std::optional<Expected>& e = task.expected) {
    const auto numbers = [&](const auto& span) { return id_of(keep(task.reference, span.data(), static_cast<int64_t>(span.size_bytes()), false)); };
    r.compare = true;
    r.integers = e->values.empty();
    r.samples = numbers(e->samples);
    r.values = r.integers ? numbers(e->int_values) : numbers(e->values);
    r.magnitudes = numbers(e->magnitudes);
    r.rel_error = e->rel_error;
    r.max_error = e->max_error;
  }
  return std::make_unique<DeviceCandidateHandle>(*this, std::move(r), std::move(tensors));
}

// No limit of the kernel's counts what is resident: the process is looked at while it works.
std::optional<CandidateFailure> DeviceCandidates::wait_for_answer(double seconds) {
  const uint64_t most = sandbox_profile(spec_.kind, SandboxRole::kCandidate)->memory_bytes;
  const auto end = SteadyClock().now() + std::chrono::milliseconds(static_cast<int64_t>(std::min(seconds, 1e6) * 1e3));
  while (SteadyClock().now() < end) {
    pollfd wait[2] = {{process_->descriptor(), POLLIN, 0}, {interrupt_fd_, POLLIN, 0}};
    if (poll(wait, interrupt_fd_ >= 0 ? 2 : 1, kLookMs) != 0) break;
    if (resident_bytes(process_->pid()) > most) return CandidateFailure{ResultStatus::kRunFailed, fmt::format("the device's process took more than {} GiB", most >> 30)};
  }
  return std::nullopt;
}

template <class Reply, class Request>
Answer<Reply> DeviceCandidates::ask(FrameKind kind, const Request& request, FrameKind reply_kind, double seconds) {
  const auto start = SteadyClock().now();
  Answer<Reply> answer;
  process_->tell(kind, request);  // where nobody is there any more, the answer says so
  answer.failure = wait_for_answer(seconds);
  const double left = std::max(1e-3, seconds - std::chrono::duration<double>(SteadyClock().now() - start).count());
  if (!answer.failure) answer = process_->receive<Reply>(reply_kind, left, interrupt_fd_);
  if (answer.failure && answer.failure->status == ResultStatus::kRunTimeout) answer.failure->message = fmt::format("the kernel was still running after {:.3g} s", seconds);
  if (answer.failure || answer.reply.last) end_process();
  return answer;
}

}  // namespace hone::agent
