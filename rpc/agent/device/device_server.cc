#include "rpc/agent/device/device_server.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <map>

#include "base/secure_hash.h"
#include "compiler/target/gpu_kinds.h"
#include "rpc/agent/device/device_candidate.h"
#include "rpc/agent/device/device_discovery.h"
#include "rpc/agent/pipe/frames.h"
#include "rpc/agent/sandbox/sandbox.h"

namespace hone::agent {
namespace {

using wire::ResultStatus;

// Environment of drivers: where they keep compiled code, and find their linker; the processes have no home folder.
void set_environment(const std::string& folder) {
  setenv("PATH", "/usr/bin:/bin", 1);
  for (const char* name : {"HOME", "TMPDIR", "XDG_CACHE_HOME"}) setenv(name, folder.c_str(), 1);
  for (const GpuKind& kind : gpu_kinds())
    for (const char* name : kind.caches) setenv(name, folder.c_str(), 1);
}

class DeviceServer {
 public:
  DeviceServer(int fd, Device& device) : fd_(fd), device_(device) {}

  // Serves until the other end closes or sends an invalid message, or the device is lost.
  void serve() {
    while (device_.health().ok()) {
      const StatusOr<Frame> frame = receive_frame(fd_);
      if (!frame.ok() || !answer(*frame)) return;
    }
  }

 private:
  struct Tensor {
    std::unique_ptr<DeviceBuffer> on_device;
    std::vector<std::pair<int64_t, Hash128>> parts;  ///< bytes and hash of each tensor on the device, in order
    std::string on_host;
  };

  bool answer(const Frame& frame) {
    switch (frame.kind) {
      case FrameKind::kPutTensor: return with<PutTensor>(frame, [this](const PutTensor& t) { return put(t); });
      case FrameKind::kDrop: return with<Drop>(frame, [this](const Drop& d) { return drop(d); });
      case FrameKind::kCheckRequest:
        return with<CheckRequest>(
            frame, [this](const CheckRequest& r) { return send_frame(fd_, FrameKind::kCheckReply, check(r)).ok(); });
      case FrameKind::kDeviceTimeRequest:
        return with<DeviceTimeRequest>(frame, [this](const DeviceTimeRequest& r) { return time(r); });
      default: return false;
    }
  }

  template <class T, class Body>
  bool with(const Frame& frame, const Body& body) {
    const StatusOr<T> message = from_bytes<T>(frame.payload);
    return message.ok() && body(*message);
  }

  // A tensor that did not fit is reported missing to the candidates that need it.
  bool put(const PutTensor& t) {
    Tensor& tensor = tensors_[t.id];
    if (t.offset > t.bytes || t.part.size() > t.bytes - t.offset) return false;
    if (!t.on_device) {
      tensor.on_host.resize(t.bytes);
      t.part.copy(tensor.on_host.data() + t.offset, t.part.size());
      return true;
    }
    if (t.offset == 0) {
      auto buffer = device_.allocate(static_cast<int64_t>(t.bytes));
      if (buffer.ok()) tensor.on_device = *std::move(buffer);
    }
    tensor.parts.emplace_back(static_cast<int64_t>(t.part.size()), secure_hash(t.part));
    if (tensor.on_device && !device_
                                 .write(*tensor.on_device, t.part.data(), static_cast<int64_t>(t.part.size()),
                                        static_cast<int64_t>(t.offset))
                                 .ok())
      tensor.on_device.reset();
    return true;
  }

  bool drop(const Drop& d) {
    for (const uint64_t id : d.tensors) tensors_.erase(id);
    for (const uint64_t id : d.candidates) candidates_.erase(id);
    return true;
  }

  CheckReply check(const CheckRequest& r) {
    CheckReply reply;
    try {
      std::vector<DeviceBuffer*> inputs;
      for (size_t i = 0; i < r.tensors.size(); ++i) inputs.push_back(r.tensors[i] == 0 ? nullptr : input(r, i));
      if (inputs.size() != r.info.params.size())
        throw CandidateFailure{ResultStatus::kRunFailed, "a tensor is missing"};
      auto candidate = std::make_unique<DeviceCandidate>(device_, r, inputs);
      reply = candidate->check(expected(r));
      if (reply.result.status == ResultStatus::kWrongResult) check_inputs(r);
      if (reply.result.status == ResultStatus::kOk) candidates_[r.id] = std::move(candidate);
    } catch (const CandidateFailure& f) {
      reply.result.status = f.status;
      reply.result.message = f.message;
      reply.last = f.spoils;
    } catch (const std::bad_alloc&) {
      reply.result.status = ResultStatus::kRunFailed;
      reply.result.message = "out of memory";
      reply.last = true;
    }
    reply.last |= !device_.health().ok();
    return reply;
  }

  // Finds the cause of a wrong result: candidates share inputs, and an earlier one may have written to them.
  void check_inputs(const CheckRequest& r) {
    std::string part;
    for (size_t i = 0; i < r.tensors.size(); ++i) {
      if (r.tensors[i] == 0) continue;
      const Tensor& tensor = tensors_[r.tensors[i]];
      int64_t offset = 0;
      for (const auto& [bytes, hash] : tensor.parts) {
        part.resize(static_cast<size_t>(bytes));
        if (const Status s = device_.read(*tensor.on_device, part.data(), bytes, offset); !s.ok())
          throw failure_of(s, "reading from the device");
        if (secure_hash(part) != hash)
          throw CandidateFailure{ResultStatus::kRunFailed,
                                 fmt::format("the input '{}' was overwritten", r.info.params[i].name), true};
        offset += bytes;
      }
    }
  }

  DeviceBuffer* input(const CheckRequest& r, size_t param) {
    DeviceBuffer* buffer = tensors_[r.tensors[param]].on_device.get();
    const Param& p = r.info.params.at(param);
    const int64_t bytes = physical_bytes(p);
    if (!buffer || buffer->bytes() < bytes)
      throw CandidateFailure{ResultStatus::kRunFailed,
                             fmt::format("the device has no memory for '{}' ({} bytes)", p.name, bytes), true};
    return buffer;
  }

  std::vector<Expected> expected(const CheckRequest& r) {
    std::vector<Expected> all;
    for (const ExpectedTensors& tensors : r.expected) {
      Expected& e = all.emplace_back();
      e.samples = numbers<int64_t>(tensors.samples);
      if (tensors.integers)
        e.int_values = numbers<int64_t>(tensors.values);
      else
        e.values = numbers<double>(tensors.values);
      e.tolerances = numbers<double>(tensors.tolerances);
      e.error_norm = tensors.error_norm;
    }
    return all;
  }

  template <class T>
  std::span<const T> numbers(uint64_t id) {
    const std::string& bytes = tensors_[id].on_host;
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  bool time(const DeviceTimeRequest& r) {
    const auto found = candidates_.find(r.id);
    if (found == candidates_.end()) return false;
    TimeReply reply = found->second->time(r.time);
    reply.last |= !device_.health().ok();
    return send_frame(fd_, FrameKind::kTimeReply, reply).ok();
  }

  const int fd_;
  Device& device_;
  std::map<uint64_t, Tensor> tensors_;
  std::map<uint64_t, std::unique_ptr<DeviceCandidate>> candidates_;
};

}  // namespace

void serve_device(int fd, const DeviceSpec& spec, const std::string& folder, const PreparedSandbox* sandbox) {
  close_others(fd, sandbox ? sandbox->descriptor() : -1);
  DeviceHello hello;
  if (sandbox) sandbox->apply(&hello.missing);
  if (sandbox && sandbox->descriptor() >= 0) close(sandbox->descriptor());
  set_environment(folder);
  auto device = open_device(spec, {.cache_folder = folder + "/binaries"}, &hello.device);
  if (!device.ok()) hello.error = message_of(device.status());
  if (send_frame(fd, FrameKind::kDeviceHello, hello).ok() && device.ok()) DeviceServer(fd, **device).serve();
  // Exit handlers and threads of drivers are skipped: they may wait for a device that is gone.
  _exit(0);
}

}  // namespace hone::agent
