#include "rpc/agent/device/device_candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "rpc/agent/pipe/archive.h"

namespace hone::agent {
namespace {

using wire::ResultStatus;

// An overrun shows in the bytes behind an output; drivers align buffers to 256 bytes and more.
constexpr int64_t kMarginBytes = 256;
constexpr char kMargin = 0x5C;
// A command queue is bounded: this many calls are enqueued at a time.
constexpr int64_t kMostCalls = 4096;

std::string first_line(const std::string& text) {
  return text.substr(0, std::min(text.find('\n'), kMaxMessageText / 2));
}

void require(const Status& status, const std::string& what) {
  if (!status.ok()) throw failure_of(status, what);
}

template <class T>
T value_of(StatusOr<T> value, const std::string& what) {
  require(value.status(), what);
  return *std::move(value);
}

// Full of NaNs: no kernel may count on zeros.
MarkedBuffer make_marked(Device& device, int64_t bytes, const std::string& name) {
  if (bytes > std::numeric_limits<int64_t>::max() - kMarginBytes)
    throw CandidateFailure{ResultStatus::kRunFailed, fmt::format("{}: {} bytes", name, bytes)};
  MarkedBuffer out{value_of(device.allocate(bytes + kMarginBytes), name), bytes};
  require(device.fill(*out.buffer, 0xFF), name);
  const std::string margin(kMarginBytes, kMargin);
  require(device.write(*out.buffer, margin.data(), kMarginBytes, bytes), name);
  return out;
}

}  // namespace

CandidateFailure failure_of(const Status& status, const std::string& what) {
  // Other processes may hold the missing memory.
  return {ResultStatus::kRunFailed, first_line(what + ": " + message_of(status)), absl::IsResourceExhausted(status)};
}

DeviceCandidate::DeviceCandidate(Device& device, const CheckRequest& request, const std::vector<DeviceBuffer*>& inputs)
    : device_(device), info_(request.info), repeated_(device, [this] { return launch(); }) {
  const StatusOr<DeviceCode> code = from_bytes<DeviceCode>(request.code);
  if (!code.ok()) throw CandidateFailure{ResultStatus::kBuildFailed, "the file holds no code for a device"};
  StatusOr<std::unique_ptr<DeviceProgram>> program =
      code->is_text ? device.compile(code->code) : device.load({.bytes = code->code, .log = ""});
  if (!program.ok())
    throw CandidateFailure{
        absl::IsInvalidArgument(program.status()) ? ResultStatus::kBuildFailed : ResultStatus::kRunFailed,
        first_line(message_of(program.status()))};
  program_ = *std::move(program);
  for (const GpuLaunch& l : code->launches)
    launches_.push_back({value_of(program_->kernel(l.kernel), "the code"), l.shape});
  for (size_t i = 0; i < info_.params.size(); ++i) {
    const Param& p = info_.params[i];
    if (p.role == ParamRole::kOutput) {
      MarkedBuffer& out = outputs_[i] = make_marked(device, physical_bytes(p), p.name);
      arguments_.push_back(out.buffer.get());
    } else {
      arguments_.push_back(inputs[i]);
    }
  }
  if (info_.workspace_bytes > 0) {
    MarkedBuffer& workspace = outputs_[info_.params.size()] = make_marked(device, info_.workspace_bytes, "workspace");
    arguments_.push_back(workspace.buffer.get());
  }
}

CheckReply DeviceCandidate::check(const std::vector<Expected>& expected) {
  CheckReply reply = check_kernel(*this, info_, expected);
  if (reply.result.status == ResultStatus::kOk)
    for (const auto& [param, marked] : outputs_)
      if (param < info_.params.size()) first_[param] = logical_output(*this, info_.params[param], param);
  return reply;
}

Status DeviceCandidate::launch() {
  for (const BoundLaunch& l : launches_) HONE_RETURN_IF_ERROR(device_.launch(*l.kernel, l.shape, arguments_));
  return absl::OkStatus();
}

// Seconds of all calls together.
double DeviceCandidate::timed(int64_t calls) { return value_of(repeated_.seconds(calls), "the kernel"); }

TimeReply DeviceCandidate::time(const TimeRequest& request) {
  TimeReply reply;
  try {
    if (!first_.empty()) poison_outputs(kFirstPoison);
    double seconds = 0;
    // Clocks may be coarse: calls that took no measurable time are repeated.
    const auto enough = [&] {
      return seconds <= 0 ? reply.calls >= kMostCalls : request.flush_cache || seconds >= 0.95 * request.min_seconds;
    };
    do {
      if (request.flush_cache) require(device_.flush_cache(), "emptying the cache");
      const double left = std::max(request.min_seconds - seconds, 0.0);
      const auto wanted = static_cast<int64_t>(std::ceil(std::min(left / std::max(call_seconds_, 1e-9), 1e9)));
      const int64_t calls = request.flush_cache ? 1 : std::clamp<int64_t>(wanted, 1, kMostCalls);
      seconds += timed(calls);
      reply.calls += calls;
      call_seconds_ = seconds / static_cast<double>(reply.calls);
    } while (!enough());
    if (seconds <= 0)
      throw CandidateFailure{ResultStatus::kRunFailed,
                             fmt::format("{} calls took no time by the device's clock", reply.calls)};
    reply.seconds = call_seconds_;
    if (!first_.empty()) check_repeatable();
  } catch (const CandidateFailure& f) {
    reply.status = f.status;
    reply.message = f.message;
    reply.last = f.spoils;
  }
  return reply;
}

void DeviceCandidate::check_repeatable() {
  for (const auto& [param, first] : first_)
    if (logical_output(*this, info_.params[param], param) != first)
      throw CandidateFailure{
          ResultStatus::kWrongResult,
          fmt::format("'{}' is not the same when the kernel runs again: its threads race", info_.params[param].name)};
  check_margins();
  first_.clear();
}

void DeviceCandidate::poison_outputs(uint8_t pattern) {
  for (auto& [param, marked] : outputs_) {
    if (param == info_.params.size()) continue;
    std::vector<char> values(static_cast<size_t>(marked.bytes));
    const Param& p = info_.params[param];
    poison(values.data(), p.dtype, p.layout.physical_size(), pattern);
    require(device_.write(*marked.buffer, values.data(), marked.bytes), "writing to the device");
  }
}

double DeviceCandidate::call_once() {
  call_seconds_ = timed(1);
  check_margins();
  return call_seconds_;
}

void DeviceCandidate::check_margins() {
  for (const auto& [param, marked] : outputs_) {
    char margin[kMarginBytes];
    require(device_.read(*marked.buffer, margin, kMarginBytes, marked.bytes), "reading from the device");
    if (std::any_of(std::begin(margin), std::end(margin), [](char c) { return c != kMargin; }))
      throw CandidateFailure{ResultStatus::kRunFailed,
                             param < info_.params.size()
                                 ? fmt::format("the kernel wrote outside of '{}'", info_.params[param].name)
                                 : "the kernel wrote outside of its workspace",
                             true};
  }
}

const void* DeviceCandidate::output(size_t param) {
  const MarkedBuffer& marked = outputs_.at(param);
  output_.resize(static_cast<size_t>(marked.bytes));
  require(device_.read(*marked.buffer, output_.data(), marked.bytes), "reading from the device");
  return output_.data();
}

}  // namespace hone::agent
