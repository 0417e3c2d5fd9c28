// Messages between the agent's processes: frames and the structs in them. The candidate's process is the hostile one:
// it holds the other end of the runner's socket.
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "rpc/agent/pipe/device_protocol.h"
#include "rpc/agent/pipe/frames.h"
#include "tests/fuzz/wire/target.h"

namespace hone::fuzz {
namespace of_frames {
namespace {

using namespace agent;

// A decoded struct encodes to the same bytes again; the checks of plausibility give an answer for it.
template <class T>
void read_as(std::string_view payload) {
  const StatusOr<T> value = from_bytes<T>(payload);
  if (!value.ok()) return;
  const std::string again = to_bytes(*value);
  const StatusOr<T> twice = from_bytes<T>(again);
  HONE_ICHECK(twice.ok() && to_bytes(*twice) == again) << "a struct does not survive being written and read";
  if constexpr (requires { believable(*value); }) (void)believable(*value);
}

void read_as_any(FrameKind kind, std::string_view payload) {
  switch (kind) {
    case FrameKind::kBuilderHello: return read_as<BuilderHello>(payload);
    case FrameKind::kBuildRequest: return read_as<BuildRequest>(payload);
    case FrameKind::kBuildReply: return read_as<BuildReply>(payload);
    case FrameKind::kRunnerHello: return read_as<RunnerHello>(payload);
    case FrameKind::kRunRequest: return read_as<RunRequest>(payload);
    case FrameKind::kRunReply: return read_as<RunReply>(payload);
    case FrameKind::kCheckReply: return read_as<CheckReply>(payload);
    case FrameKind::kTimeRequest: return read_as<TimeRequest>(payload);
    case FrameKind::kTimeReply: return read_as<TimeReply>(payload);
    case FrameKind::kDeviceHello: return read_as<DeviceHello>(payload);
    case FrameKind::kPutTensor: return read_as<PutTensor>(payload);
    case FrameKind::kDrop: return read_as<Drop>(payload);
    case FrameKind::kCheckRequest: return read_as<CheckRequest>(payload);
    case FrameKind::kDeviceTimeRequest: return read_as<DeviceTimeRequest>(payload);
    case FrameKind::kDeviceList: return read_as<DeviceList>(payload);
    case FrameKind::kBuildStarted:
    case FrameKind::kCancel: return;
  }
}

// The bytes as a peer sends them, who then closes the socket.
void run(std::string_view bytes) {
  if (bytes.size() > 100'000) return;  // the socket's buffer takes no more without a reader
  int fds[2];
  HONE_ICHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
  HONE_ICHECK(bytes.empty() || write(fds[0], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  close(fds[0]);
  for (;;) {
    const StatusOr<Frame> frame = receive_frame(fds[1]);
    if (!frame.ok()) break;
    read_as_any(frame->kind, frame->payload);
  }
  close(fds[1]);
}

ModuleInfo info() {
  ModuleInfo m;
  m.params = {{"A", ParamRole::kConstant, f32, {3, 5}, Layout::identity({3, 5})}};
  m.prepacks = {{0, {{f16, 15}, {i32, 3}}}};
  m.workspace_bytes = 64;
  return m;
}

template <class T>
std::string framed(FrameKind kind, const T& value) {
  return encode_frame(kind, to_bytes(value));
}

std::vector<std::string> seeds() {
  wire::CandidateResult result;
  result.times = {1e-3, 2e-3};
  result.message = "why";
  RunRequest request;
  request.candidates = {{"/x/1.so", info()}, {"/x/2.so", info()}};
  request.reference.emplace();
  request.reference->module = request.candidates[0];
  request.reference->samples = {{1, 2}};
  RunReply reply;
  reply.candidates = {result, result};
  const FoundDevice device{{device_kind_of("cuda").value(), 1, 12},
                           "cuda -arch=sm_90 -sms=132",
                           "a GPU",
                           "9.0",
                           80,
                           false,
                           {"driver"},
                           {"580.1"}};
  const DeviceCode code{true, "kernel", {{"k0", 7, 32, 0}}};
  return {
      framed(FrameKind::kBuilderHello, BuilderHello{"llvm", "19.1", "nvrtc 13.0", {"seccomp"}}),
      framed(FrameKind::kBuildRequest, BuildRequest{"module", "llvm", "/x/1.so"}),
      encode_frame(FrameKind::kBuildStarted, "") +
          framed(FrameKind::kBuildReply, BuildReply{wire::ResultStatus::kOk, "", info(), 0.5}),
      framed(FrameKind::kRunnerHello, RunnerHello{{"cgroup memory"}, "no device"}),
      framed(FrameKind::kRunRequest, request),
      framed(FrameKind::kRunReply, reply),
      framed(FrameKind::kCheckReply, CheckReply{result, 0.1}),
      framed(FrameKind::kTimeRequest, TimeRequest{0.1, true, false}),
      framed(FrameKind::kTimeReply, TimeReply{0.1, 5, wire::ResultStatus::kOk, "", {}, {0.1, 0.2}}) +
          encode_frame(FrameKind::kCancel, ""),
      framed(FrameKind::kDeviceHello, DeviceHello{"", device, {"landlock"}}),
      framed(FrameKind::kPutTensor, PutTensor{1, true, 8, 4, "1234"}) + framed(FrameKind::kDrop, Drop{{1}, {2}}),
      framed(FrameKind::kCheckRequest, CheckRequest{3, info(), to_bytes(code), {1}, {{4, 5, 6, false, 1e-6}}}),
      framed(FrameKind::kDeviceTimeRequest, DeviceTimeRequest{3, {0.1, true, false}}),
      framed(FrameKind::kDeviceList, DeviceList{{device}, {"opencl: no loader"}}),
  };
}

}  // namespace
}  // namespace of_frames

const Target kFrames = {"frames", &of_frames::run, &of_frames::seeds,
                        [] { return std::unique_ptr<google::protobuf::Message>(); },
                        [] { return std::vector<std::string>(); }};

}  // namespace hone::fuzz
