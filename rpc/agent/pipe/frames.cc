#include "rpc/agent/pipe/frames.h"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "compiler/ir/check_types.h"
#include "rpc/agent/pipe/device_protocol.h"

namespace hone::agent {
namespace {

Status closed() { return absl::UnavailableError("the other process has closed the connection"); }

// Waits until `fd` is readable.
Status wait_readable(int fd, Clock::TimePoint deadline, int interrupt_fd) {
  for (;;) {
    timespec left{};
    if (deadline != Clock::TimePoint::max()) {
      const int64_t ns = std::max<int64_t>(0, (deadline - SteadyClock().now()).count());
      left.tv_sec = ns / 1'000'000'000;
      left.tv_nsec = ns % 1'000'000'000;
    }
    pollfd fds[2] = {{fd, POLLIN, 0}, {interrupt_fd, POLLIN, 0}};
    const int n = ppoll(fds, interrupt_fd >= 0 ? 2 : 1, deadline == Clock::TimePoint::max() ? nullptr : &left, nullptr);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::InternalError(fmt::format("poll: {}", strerror(errno)));
    if (n == 0) return absl::DeadlineExceededError("out of time");
    if (fds[0].revents) return absl::OkStatus();
    return absl::CancelledError("interrupted");
  }
}

Status receive_bytes(int fd, char* data, size_t n, Clock::TimePoint deadline, int interrupt_fd) {
  while (n > 0) {
    if (deadline != Clock::TimePoint::max() || interrupt_fd >= 0)
      HONE_RETURN_IF_ERROR(wait_readable(fd, deadline, interrupt_fd));
    const ssize_t got = recv(fd, data, n, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return closed();
    data += got;
    n -= got;
  }
  return absl::OkStatus();
}

}  // namespace

std::string encode_frame(FrameKind kind, std::string_view payload) {
  std::string out(kFrameHeaderBytes, '\0');
  const uint32_t size = static_cast<uint32_t>(payload.size());
  memcpy(out.data(), &size, sizeof size);
  out[4] = static_cast<char>(kind);
  out += payload;
  return out;
}

Status decode_frame_header(const char* header, size_t* size, FrameKind* kind) {
  uint32_t n = 0;
  memcpy(&n, header, sizeof n);
  if (n > kMaxFrameBytes)
    return absl::InternalError(fmt::format("a frame of {} bytes is larger than the limit of {}", n, kMaxFrameBytes));
  *size = n;
  *kind = static_cast<FrameKind>(header[4]);
  return absl::OkStatus();
}

Status send_frame(int fd, FrameKind kind, std::string_view payload) {
  if (payload.size() > kMaxFrameBytes)
    return absl::InternalError(fmt::format("a frame of {} bytes is too large to send", payload.size()));
  const std::string bytes = encode_frame(kind, payload);
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return closed();
    done += n;
  }
  return absl::OkStatus();
}

StatusOr<Frame> receive_frame(int fd, Clock::TimePoint deadline, int interrupt_fd) {
  char header[kFrameHeaderBytes];
  HONE_RETURN_IF_ERROR(receive_bytes(fd, header, sizeof header, deadline, interrupt_fd));
  size_t size = 0;
  Frame frame;
  HONE_RETURN_IF_ERROR(decode_frame_header(header, &size, &frame.kind));
  frame.payload.resize(size);
  HONE_RETURN_IF_ERROR(receive_bytes(fd, frame.payload.data(), size, deadline, interrupt_fd));
  return frame;
}

namespace {

bool is_time(double seconds) { return std::isfinite(seconds) && seconds >= 0; }

// As verify() leaves them: tensors of scalars, with a layout that fits.
bool is_sound(const ModuleInfo& m) {
  constexpr int64_t kMostElements = int64_t{1} << 48;
  constexpr size_t kMostParams = 1 << 12, kMostPacked = 1 << 12;  // more than a decoded module has
  const auto is_size = [](int64_t elements) { return elements >= 1 && elements <= kMostElements; };
  const auto is_scalar = [](DType t) { return is_valid(t) && !t.is_vector(); };
  if (m.workers < 1 || m.workspace_bytes < 0 || m.params.size() > kMostParams) return false;
  for (const Param& p : m.params) {
    if (!is_scalar(p.dtype)) return false;
    try {
      p.layout.validate(p.shape);
      if (element_count(p.shape) < 1 || !is_size(p.layout.physical_size())) return false;
    } catch (const UserError&) {
      return false;
    }
  }
  std::vector<bool> is_packed(m.params.size());
  size_t packed = 0;
  for (const PrepackInfo& p : m.prepacks) {
    if (p.param >= m.params.size() || is_packed[p.param] || p.tensors.empty()) return false;
    is_packed[p.param] = true;
    packed += p.tensors.size();
    if (m.params[p.param].role != ParamRole::kConstant || packed > kMostPacked) return false;
    for (const PackedTensor& t : p.tensors)
      if (!is_scalar(t.dtype) || !is_size(t.elements)) return false;
  }
  return true;
}

}  // namespace

std::optional<size_t> ModuleInfo::prepack_of(size_t param) const {
  for (size_t i = 0; i < prepacks.size(); ++i)
    if (prepacks[i].param == param) return i;
  return std::nullopt;
}

int64_t physical_bytes(const Param& p) { return p.layout.physical_size() * p.dtype.bytes(); }

// A candidate's process may not report that the device is lost or the job cancelled: that would cost the device its
// reputation.
static bool may_say(wire::ResultStatus status) {
  using enum wire::ResultStatus;
  return status == kOk || status == kRejected || status == kBuildFailed || status == kRunFailed ||
         status == kWrongResult;
}

bool believable(const BuildReply& r) {
  using enum wire::ResultStatus;
  if (r.status != kOk && r.status != kRejected && r.status != kBuildFailed) return false;
  return is_time(r.seconds) && r.message.size() <= kMaxMessageText && (r.status != kOk || is_sound(r.info));
}

bool believable(const CheckReply& r) {
  if (!may_say(r.result.status)) return false;
  return r.result.times.empty() && !r.result.censored && r.result.message.size() <= kMaxMessageText &&
         is_time(r.first_call_seconds);
}

bool believable(const TimeReply& r) {
  constexpr size_t kMostCores = 1024;  // --threads allows no more
  if (!may_say(r.status) || r.message.size() > kMaxMessageText) return false;
  const auto is_reading = [&](const std::vector<double>& cores) {
    return cores.size() <= kMostCores && std::all_of(cores.begin(), cores.end(), is_time);
  };
  return is_time(r.seconds) && is_time(r.wait.seconds) && r.wait.slices >= 0 && is_reading(r.sentinel) &&
         is_reading(r.tiles);
}

bool believable(const DeviceHello& h) {
  const FoundDevice& d = h.device;
  const auto is_short = [](const std::string& text) { return text.size() <= kMaxMessageText; };
  return is_short(h.error) && is_short(d.target) && is_short(d.model) && is_short(d.compute_capability) &&
         d.version_names.size() == d.versions.size() && d.versions.size() <= 64 &&
         std::all_of(d.versions.begin(), d.versions.end(), is_short) &&
         std::all_of(d.version_names.begin(), d.version_names.end(), is_short) && h.missing.size() <= 64;
}

}  // namespace hone::agent
