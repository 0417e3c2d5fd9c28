// Messages between the runner and the process that has a device open, and the contents of the files that builders write
// for such a process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/runtime/gpu_launch.h"
#include "rpc/agent/pipe/device_spec.h"
#include "rpc/agent/pipe/protocol.h"

namespace hone {

template <class A>
void fields(A& a, GpuLaunch& l) {
  a(l.kernel, l.shape.blocks, l.shape.threads, l.shape.dynamic_shared_bytes, l.shared_bytes);
}

}  // namespace hone

namespace hone::agent {

/// A device that was found.
struct FoundDevice {
  DeviceSpec spec;
  std::string target;  ///< canonical
  std::string model, compute_capability;
  uint64_t memory_bytes = 0;
  bool on_host = false;                              ///< it computes on this host's cores (PoCL)
  std::vector<std::string> version_names, versions;  ///< versions of driver and API, on one line
};
template <class A>
void fields(A& a, DeviceSpec& s) {
  a(s.kind, s.index, s.api_major);
}
inline bool is_known(DeviceKind kind) { return static_cast<size_t>(kind) <= gpu_device_kinds().size(); }
template <class A>
void fields(A& a, FoundDevice& d) {
  a(d.spec, d.target, d.model, d.compute_capability, d.memory_bytes, d.on_host, d.version_names, d.versions);
}

/// The devices of a machine beside its CPU; `skipped`: one line for each device or driver that cannot be used.
struct DeviceList {
  std::vector<FoundDevice> devices;
  std::vector<std::string> skipped;
};
template <class A>
void fields(A& a, DeviceList& l) {
  a(l.devices, l.skipped);
}

/// A module built for a GPU, as its file holds it.
struct DeviceCode {
  bool is_text = false;  ///< text for the driver's compiler; otherwise an image for Device::load()
  std::string code;
  std::vector<GpuLaunch> launches;
};
template <class A>
void fields(A& a, DeviceCode& c) {
  a(c.is_text, c.code, c.launches);
}

/// The first thing that the process says.
struct DeviceHello {
  std::string error;  ///< why there is no device; empty when there is one
  FoundDevice device;
  std::vector<std::string> missing;
};
template <class A>
void fields(A& a, DeviceHello& h) {
  a(h.error, h.device, h.missing);
}

/// A part of a tensor that candidates share: an input (kept on the device) or a value of the reference (kept in host
/// memory).
struct PutTensor {
  uint64_t id = 0;
  bool on_device = true;
  uint64_t bytes = 0, offset = 0;
  std::string part;
};
template <class A>
void fields(A& a, PutTensor& t) {
  a(t.id, t.on_device, t.bytes, t.offset, t.part);
}

/// Tensors and candidates that are no longer needed.
struct Drop {
  std::vector<uint64_t> tensors, candidates;
};
template <class A>
void fields(A& a, Drop& d) {
  a(d.tensors, d.candidates);
}

/// The expected values of one output: tensors that the reference computed.
struct ExpectedTensors {
  uint64_t samples = 0, values = 0, tolerances = 0;
  bool integers = false;
  double error_norm = 0;
};
template <class A>
void fields(A& a, ExpectedTensors& e) {
  a(e.samples, e.values, e.tolerances, e.integers, e.error_norm);
}

/// Loads and checks a candidate, which is called `id` from now on.
struct CheckRequest {
  uint64_t id = 0;
  ModuleInfo info;
  std::string code;                       ///< a DeviceCode
  std::vector<uint64_t> tensors;          ///< one for each parameter; 0 for outputs
  std::vector<ExpectedTensors> expected;  ///< one for each output; empty: they are not compared
};
template <class A>
void fields(A& a, CheckRequest& r) {
  a(r.id, r.info, r.code, r.tensors, r.expected);
}

struct DeviceTimeRequest {
  uint64_t id = 0;
  TimeRequest time;
};
template <class A>
void fields(A& a, DeviceTimeRequest& r) {
  a(r.id, r.time);
}

/// Whether a process with our code could have sent this description of a device. It may run a driver that a candidate
/// broke.
bool believable(const DeviceHello& h);

}  // namespace hone::agent
