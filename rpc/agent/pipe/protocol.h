// Messages between the supervisor, its builders and its runner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "rpc/agent/pipe/core_wait.h"
#include "rpc/wire/messages/messages.h"

namespace hone {

inline bool is_known(ParamRole role) { return role <= ParamRole::kOutput; }
inline bool is_known(TypeCode code) { return static_cast<int>(code) < kTypeCodeCount; }

template <class A>
void fields(A& a, Hash128& h) {
  a(h.high, h.low);
}
template <class A>
void fields(A& a, LayoutDim& d) {
  a(d.axis, d.stride, d.extent);
}
template <class A>
void fields(A& a, DType& t) {
  a(t.code, t.bits, t.lanes);
}
template <class A>
void fields(A& a, Param& p) {
  a(p.name, p.role, p.dtype, p.shape, p.layout.dims);
}

namespace wire {
inline bool is_known(ResultStatus status) { return status >= ResultStatus::kOk && status <= ResultStatus::kCancelled; }
template <class A>
void fields(A& a, MeasureProfile& p) {
  a(p.warmup, p.repeats, p.min_repeat_ms, p.best_seconds, p.censor_factor, p.refine_factor, p.refine_repeats,
    p.refine_repeat_ms, p.flush_cache, p.build_timeout_s, p.run_timeout_s, p.threads, p.cold_constants, p.cold_bytes);
}
template <class A>
void fields(A& a, CandidateResult& r) {
  a(r.status, r.message, r.times, r.censored, r.rel_error, r.max_error);
}
}  // namespace wire

namespace agent {

/// A frame: its kind and the bytes of the struct of that name.
enum class FrameKind : uint8_t {
  kBuilderHello = 1,
  kBuildRequest,
  kBuildStarted,  ///< no content: the host lock is held, the build's clock starts
  kBuildReply,
  kRunnerHello,
  kRunRequest,
  kRunReply,
  kCancel,  ///< no content: stop the run in progress, its results are not wanted
  // Between the runner and a candidate's process.
  kCheckReply,
  kTimeRequest,
  kTimeReply,
  // Between the runner and the process that has a device open (device_protocol.h), which answers as a candidate's
  // process does.
  kDeviceHello,
  kPutTensor,
  kDrop,
  kCheckRequest,
  kDeviceTimeRequest,
  // The answer of a runner that looks for devices.
  kDeviceList,
};

struct Frame {
  FrameKind kind{};
  std::string payload;
};

/// Sent once at start. `missing`: protections that this host did not grant.
struct BuilderHello {
  std::string target;           ///< this machine's canonical target
  std::string version;          ///< the code generator's
  std::string device_compiler;  ///< the compiler for the GPU, with its version; empty: none, or the driver's own
  std::vector<std::string> missing;
};
template <class A>
void fields(A& a, BuilderHello& h) {
  a(h.target, h.version, h.device_compiler, h.missing);
}

struct BuildRequest {
  std::string module;  ///< as rpc/ir encodes it
  std::string target;  ///< canonical
  std::string output;  ///< path of the shared object to write
};
template <class A>
void fields(A& a, BuildRequest& r) {
  a(r.module, r.target, r.output);
}

/// A tensor that a prepack makes.
struct PackedTensor {
  DType dtype;
  int64_t elements = 0;

  int64_t bytes() const { return elements * dtype.bytes(); }
};
template <class A>
void fields(A& a, PackedTensor& t) {
  a(t.dtype, t.elements);
}

/// A prepack (compiler/ir/module.h): the kernels take `tensors` in place of parameter `param`.
struct PrepackInfo {
  uint32_t param = 0;
  std::vector<PackedTensor> tensors;
};
template <class A>
void fields(A& a, PrepackInfo& p) {
  a(p.param, p.tensors);
}

/// The runner needs this of a built module, beside its machine code.
struct ModuleInfo {
  std::vector<Param> params;
  std::vector<PrepackInfo> prepacks;  ///< in the order of the artifact's entries
  int64_t workspace_bytes = 0;
  int32_t workers = 1;

  /// The index of the prepack of parameter `param`; nothing when its layout says all.
  std::optional<size_t> prepack_of(size_t param) const;
};
template <class A>
void fields(A& a, ModuleInfo& m) {
  a(m.params, m.prepacks, m.workspace_bytes, m.workers);
}
/// Bytes of `p` in its layout.
int64_t physical_bytes(const Param& p);

struct BuildReply {
  wire::ResultStatus status = wire::ResultStatus::kOk;
  std::string message;
  ModuleInfo info;
  double seconds = 0;
};
template <class A>
void fields(A& a, BuildReply& r) {
  a(r.status, r.message, r.info, r.seconds);
}

struct RunnerHello {
  std::vector<std::string> missing;
  std::string error;  ///< why it can measure nothing; empty when it can
};
template <class A>
void fields(A& a, RunnerHello& h) {
  a(h.missing, h.error);
}

/// A shared object and its description.
struct BuiltModule {
  std::string path;
  ModuleInfo info;
};
template <class A>
void fields(A& a, BuiltModule& m) {
  a(m.path, m.info);
}

struct ReferenceRequest {
  BuiltModule module;
  Hash128 key;                                ///< key of the cached values: module, seed and samples
  std::vector<std::vector<int64_t>> samples;  ///< one for each output; empty: every element
  double timeout_s = 60;
};
template <class A>
void fields(A& a, ReferenceRequest& r) {
  a(r.module, r.key, r.samples, r.timeout_s);
}

struct RunRequest {
  std::vector<BuiltModule> candidates;
  Hash128 session;    ///< session of the job
  uint64_t seed = 0;  ///< seed of the inputs
  wire::MeasureProfile profile;
  double most_seconds = 1e6;  ///< upper limit for each candidate, for every profile
  std::optional<ReferenceRequest> reference;

  /// Seconds from the start of a candidate's run (checks included) until it is given up.
  double deadline() const;
};
template <class A>
void fields(A& a, RunRequest& r) {
  a(r.candidates, r.session, r.seed, r.profile, r.most_seconds, r.reference);
}

struct RunReply {
  std::vector<wire::CandidateResult> candidates;
  double check_seconds = 0, run_seconds = 0, reference_seconds = 0, wait_seconds = 0;
  /// Seconds of the sentinel on the core where it took longest, before the first repeat and after the last; 0: not
  /// timed.
  double sentinel_before = 0, sentinel_after = 0;
  /// At least one candidate had too few undisturbed repeats, or other processes used the machine throughout.
  bool drifted = false;
  uint32_t remeasured = 0;  ///< disturbed repeats, which were taken again
};
template <class A>
void fields(A& a, RunReply& r) {
  a(r.candidates, r.check_seconds, r.run_seconds, r.reference_seconds, r.wait_seconds, r.sentinel_before,
    r.sentinel_after, r.drifted, r.remeasured);
}

/// A candidate's process has checked its outputs (or could not).
struct CheckReply {
  wire::CandidateResult result;  ///< times still empty
  double first_call_seconds = 0;
  /// The process's device is lost, or other candidates' data in it may be damaged: the process ends after this answer.
  bool last = false;
};
template <class A>
void fields(A& a, CheckReply& r) {
  a(r.result, r.first_call_seconds, r.last);
}

struct TimeRequest {
  double min_seconds = 0;  ///< call until this much time has passed; 0: one call
  bool flush_cache = false;
  bool watch = false;  ///< run only the sentinel for `min_seconds`, and no call
};
template <class A>
void fields(A& a, TimeRequest& r) {
  a(r.min_seconds, r.flush_cache, r.watch);
}

struct TimeReply {
  double seconds = 0;  ///< per call
  int64_t calls = 0;
  wire::ResultStatus status = wire::ResultStatus::kOk;
  std::string message;           ///< one line; empty when ok
  CoreWait wait;                 ///< of the candidate's threads, during these calls
  std::vector<double> sentinel;  ///< on each core that the candidate uses, right after the calls; none on devices
  std::vector<double> tiles;     ///< the sentinel of tiles, likewise; none where the candidate uses none
  bool last = false;             ///< as CheckReply::last
};
template <class A>
void fields(A& a, TimeReply& r) {
  a(r.seconds, r.calls, r.status, r.message, r.wait.seconds, r.wait.slices, r.sentinel, r.tiles, r.last);
}

/// The most bytes of a result's message, which is one line.
inline constexpr size_t kMaxMessageText = 4096;

/// Whether a candidate's process that runs our code could have sent this. The process may run hostile code: its answers
/// may decide about its own candidate only.
bool believable(const CheckReply& r);
bool believable(const TimeReply& r);
/// Whether a builder that no module has taken over could have sent this. The runner allocates and copies by its
/// contents.
bool believable(const BuildReply& r);

}  // namespace agent
}  // namespace hone
