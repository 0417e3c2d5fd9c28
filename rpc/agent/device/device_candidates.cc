#include "rpc/agent/device/device_candidates.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "rpc/agent/device/device_server.h"
#include "rpc/agent/pipe/folder.h"
#include "rpc/agent/pipe/frames.h"
#include "rpc/agent/pipe/stopwatch.h"
#include "rpc/agent/sandbox/sandbox_profile.h"

namespace hone::agent {
namespace {

using wire::ResultStatus;

constexpr double kStartSeconds = 60;  // a driver may have to wake up a machine full of GPUs
constexpr size_t kPartBytes = size_t{16} << 20;
// The most bytes of inputs kept on the device; at most a quarter of its memory.
constexpr int64_t kMostKeptBytes = int64_t{4} << 30;
constexpr int kLookMs = 100;
constexpr double kWarmSeconds = 1e-3;
// Looking through the files of some hundred candidates takes milliseconds. A candidate that fills the folder while it
// runs is noticed within seconds.
constexpr int kCandidatesALook = 32, kWaitsALook = 20;
constexpr uint64_t kFlood = 4;  ///< times the number of bytes allowed between two candidates
// The limit of a frame, less the part that goes with the code.
constexpr size_t kMostCodeBytes = kMaxFrameBytes - (size_t{1} << 20);

StatusOr<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  if (!in || bytes.empty()) return absl::NotFoundError("the built module is not there");
  if (bytes.size() > kMostCodeBytes)
    return absl::ResourceExhaustedError(
        fmt::format("its code takes {} MiB; the limit is {} MiB", bytes.size() >> 20, kMostCodeBytes >> 20));
  return bytes;
}

// Resident bytes; 0 when the kernel does not say.
uint64_t resident_bytes(pid_t pid) {
  uint64_t pages = 0;
  std::ifstream statm(fmt::format("/proc/{}/statm", pid));
  uint64_t all = 0;
  statm >> all >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

// A candidate belongs to one generation of the process: after the process was replaced, it is loaded and checked again
// before it is timed.
class DeviceCandidateHandle final : public RunningCandidate {
 public:
  DeviceCandidateHandle(DeviceCandidates& place, CheckRequest request, std::vector<DeviceCandidates::KeptPtr> tensors)
      : place_(place), request_(std::move(request)), tensors_(std::move(tensors)) {
    ++place_.alive_;
  }

  ~DeviceCandidateHandle() override {
    --place_.alive_;
    if (place_.process_ && generation_ == place_.generation_)
      place_.process_->tell(FrameKind::kDrop, Drop{.tensors = {}, .candidates = {request_.id}});
  }

  // A process that ran earlier candidates may have died of something else (the out-of-memory killer, a person), or of
  // damage that an earlier candidate did: only the error of a fresh process is blamed on the candidate.
  Answer<CheckReply> check(double seconds) override {
    deadline_ = seconds;
    others_seconds_ = 0;
    return check_twice();
  }

  Answer<TimeReply> time(const TimeRequest& request, double seconds) override {
    others_seconds_ = 0;
    Answer<TimeReply> answer = time_once(request, seconds);
    // The process was killed, and the candidate was right so far: it gets one more try before it is blamed.
    return answer.failure && answer.failure->status == ResultStatus::kRunFailed ? time_once(request, seconds) : answer;
  }

  double others_seconds() const override { return others_seconds_; }

 private:
  bool is_there() const { return place_.process_ && generation_ == place_.generation_; }

  Answer<CheckReply> check_twice() {
    const bool was_there = place_.process_.has_value();
    Answer<CheckReply> answer = check_once();
    const bool doubtful = answer.failure ? answer.failure->status == ResultStatus::kRunFailed : answer.reply.last;
    return was_there && doubtful ? check_once() : answer;
  }

  Answer<CheckReply> check_once() {
    const Stopwatch watch;
    if (const Status s = place_.ensure_process(); !s.ok()) {
      const bool cancelled = absl::IsCancelled(s);
      return {
          .reply = {},
          .failure = CandidateFailure{cancelled ? ResultStatus::kCancelled : ResultStatus::kDeviceLost, message_of(s)}};
    }
    for (const auto& tensor : tensors_) place_.put(*tensor);
    others_seconds_ += watch.seconds();
    generation_ = place_.generation_;
    return place_.ask<CheckReply>(FrameKind::kCheckRequest, request_, FrameKind::kCheckReply, deadline_);
  }

  Answer<TimeReply> time_once(const TimeRequest& request, double seconds) {
    if (!is_there())
      if (std::optional<CandidateFailure> failure = move_in(); failure)
        return {.reply = {}, .failure = std::move(failure)};
    return place_.ask<TimeReply>(FrameKind::kDeviceTimeRequest, DeviceTimeRequest{request_.id, request},
                                 FrameKind::kTimeReply, seconds);
  }

  // Moves the candidate into a process that replaced its own: checked and warmed up as before.
  std::optional<CandidateFailure> move_in() {
    const Stopwatch watch;
    const double others = others_seconds_;
    Answer<CheckReply> again = check_twice();
    if (!again.failure && again.reply.result.status != ResultStatus::kOk)
      again.failure = CandidateFailure{again.reply.result.status, again.reply.result.message};
    if (!again.failure)
      again.failure = place_
                          .ask<TimeReply>(FrameKind::kDeviceTimeRequest,
                                          DeviceTimeRequest{request_.id, {.min_seconds = kWarmSeconds}},
                                          FrameKind::kTimeReply, deadline_)
                          .failure;
    others_seconds_ = others + watch.seconds();
    return again.failure;
  }

  DeviceCandidates& place_;
  const CheckRequest request_;
  const std::vector<DeviceCandidates::KeptPtr> tensors_;
  uint64_t generation_ = 0;
  double deadline_ = 0, others_seconds_ = 0;
};

DeviceCandidates::DeviceCandidates(const DeviceSpec& spec, std::string folder, std::optional<PreparedSandbox> sandbox,
                                   int interrupt_fd, uint64_t most_folder_bytes, uint64_t most_resident_bytes)
    : spec_(spec),
      folder_(std::move(folder)),
      sandbox_(std::move(sandbox)),
      interrupt_fd_(interrupt_fd),
      most_folder_bytes_(most_folder_bytes),
      most_resident_bytes_(std::min(
          most_resident_bytes, sandbox_profile(target_kind_of(spec.kind), SandboxRole::kCandidate)->memory_bytes)) {}

StatusOr<DeviceHello> DeviceCandidates::open() {
  if (folder_bytes(folder_) > most_folder_bytes_) HONE_RETURN_IF_ERROR(empty_folder(folder_));
  HONE_ASSIGN_OR_RETURN(CandidateProcess process, CandidateProcess::fork([&](int fd) {
                          serve_device(fd, spec_, folder_, sandbox_ ? &*sandbox_ : nullptr);
                        }));
  Answer<DeviceHello> hello = process.receive<DeviceHello>(FrameKind::kDeviceHello, kStartSeconds, -1);
  if (hello.failure)
    return absl::UnavailableError(fmt::format("{} cannot be opened: {}", device_name(spec_), hello.failure->message));
  if (!hello.reply.error.empty())
    return absl::UnavailableError(fmt::format("{} cannot be opened: {}", device_name(spec_), hello.reply.error));
  // When a device is gone, drivers renumber the others.
  if (generation_ > 0 && (hello.reply.device.target != device_.target || hello.reply.device.model != device_.model))
    return absl::UnavailableError(fmt::format("{} is another device now: {} was {}", device_name(spec_),
                                              hello.reply.device.model, device_.model));
  device_ = hello.reply.device;
  process_.emplace(std::move(process));
  ++generation_;
  return hello.reply;
}

bool DeviceCandidates::interrupted() const {
  pollfd cancel{interrupt_fd_, POLLIN, 0};
  return interrupt_fd_ >= 0 && poll(&cancel, 1, 0) > 0;
}

// Starts the driver's process, unless the job was cancelled meanwhile: a driver takes seconds to start.
Status DeviceCandidates::ensure_process() {
  if (process_) return absl::OkStatus();
  return interrupted() ? absl::CancelledError("cancelled while running") : open().status();
}

void DeviceCandidates::end_process() {
  process_.reset();
  there_.clear();
}

// Drivers keep their compiled code, and some never remove it. The folder is emptied between two processes, so no driver
// loses a file in use.
void DeviceCandidates::look_at_folder() {
  if (alive_ > 0 || ++looked_ < kCandidatesALook) return;
  looked_ = 0;
  if (folder_bytes(folder_) > most_folder_bytes_) end_process();
}

DeviceCandidates::KeptPtr DeviceCandidates::keep(std::shared_ptr<const void> owner, const void* data, int64_t bytes,
                                                 bool on_device) {
  auto found = std::find_if(tensors_.begin(), tensors_.end(),
                            [&](const KeptPtr& k) { return k->data == data && k->bytes == bytes; });
  if (found == tensors_.end())
    found = tensors_.insert(tensors_.begin(),
                            std::make_shared<Kept>(Kept{++last_id_, std::move(owner), data, bytes, on_device}));
  tensors_.splice(tensors_.begin(), tensors_, found);
  return tensors_.front();
}

bool DeviceCandidates::put(const Kept& tensor) {
  if (!process_ || there_.contains(tensor.id)) return process_.has_value();
  const auto bytes = static_cast<size_t>(tensor.bytes);
  for (size_t offset = 0; offset < bytes; offset += kPartBytes) {
    const size_t part = std::min(kPartBytes, bytes - offset);
    if (!process_->tell(FrameKind::kPutTensor,
                        PutTensor{tensor.id, tensor.on_device, bytes, offset,
                                  std::string(static_cast<const char*>(tensor.data) + offset, part)}))
      return false;
  }
  there_.insert(tensor.id);
  return true;
}

// Drops the least recently used tensors that no candidate needs.
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
  look_at_folder();
  CheckRequest r;
  r.id = ++last_id_;
  r.info = task.module->info;
  HONE_ASSIGN_OR_RETURN(r.code, read_file(task.module->path));
  std::vector<KeptPtr> tensors;
  const auto id_of = [&](const KeptPtr& kept) {
    tensors.push_back(kept);
    return kept->id;
  };
  if (!r.info.prepacks.empty())
    return absl::InvalidArgumentError(fmt::format("'{}' is packed by code; a GPU takes inputs as they are",
                                                  r.info.params.at(r.info.prepacks[0].param).name));
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    const TensorCache::Tensor& input = task.inputs[i];
    const int64_t bytes = physical_bytes(r.info.params[i]);
    if (input && bytes > input->bytes())
      return absl::InvalidArgumentError(fmt::format("'{}' is smaller than its layout says", r.info.params[i].name));
    r.tensors.push_back(input ? id_of(keep(input, input->data(), bytes, true)) : 0);
  }
  const auto numbers = [&](const auto& span) {
    return id_of(keep(task.reference, span.data(), static_cast<int64_t>(span.size_bytes()), false));
  };
  for (const Expected& e : task.expected) {
    const bool integers = e.values.empty();
    r.expected.push_back({numbers(e.samples), integers ? numbers(e.int_values) : numbers(e.values),
                          numbers(e.tolerances), integers, e.error_norm});
  }
  return std::make_unique<DeviceCandidateHandle>(*this, std::move(r), std::move(tensors));
}

// No kernel limit counts resident bytes: the process is watched while it works.
std::optional<CandidateFailure> DeviceCandidates::wait_for_answer(double seconds) {
  const auto end = SteadyClock().now() + std::chrono::milliseconds(static_cast<int64_t>(std::min(seconds, 1e6) * 1e3));
  for (int looks = 1; SteadyClock().now() < end; ++looks) {
    pollfd wait[2] = {{process_->descriptor(), POLLIN, 0}, {interrupt_fd_, POLLIN, 0}};
    if (poll(wait, interrupt_fd_ >= 0 ? 2 : 1, kLookMs) != 0) break;
    if (resident_bytes(process_->pid()) > most_resident_bytes_)
      return CandidateFailure{ResultStatus::kRunFailed,
                              fmt::format("the device's process took more than {:.3g} GiB",
                                          static_cast<double>(most_resident_bytes_) / (1 << 30))};
    if (looks % kWaitsALook == 0 && folder_bytes(folder_) > kFlood * most_folder_bytes_)
      return CandidateFailure{ResultStatus::kRunFailed, fmt::format("the device's driver wrote more than {} MiB",
                                                                    (kFlood * most_folder_bytes_) >> 20)};
  }
  return std::nullopt;
}

template <class Reply, class Request>
Answer<Reply> DeviceCandidates::ask(FrameKind kind, const Request& request, FrameKind reply_kind, double seconds) {
  const Stopwatch watch;
  Answer<Reply> answer;
  process_->tell(kind, request);  // where the process is gone, wait_for_answer() says so
  answer.failure = wait_for_answer(seconds);
  const double left = std::max(1e-3, seconds - watch.seconds());
  if (!answer.failure) answer = process_->receive<Reply>(reply_kind, left, interrupt_fd_);
  if (answer.failure && answer.failure->status == ResultStatus::kRunTimeout)
    answer.failure->message = fmt::format("the kernel was still running after {:.3g} s", seconds);
  if (answer.failure || answer.reply.last) end_process();
  return answer;
}

}  // namespace hone::agent
