// The messages between tuner, tracker and agent as plain C++: no protobuf type appears here. proto/ has the wire form,
// convert.h the conversion. Times are in seconds unless a name says otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/secure_hash.h"
#include "rpc/wire/messages/uuid.h"

namespace hone::wire {

/// Both sides of a stream must name the same one.
inline constexpr uint32_t kProtocolVersion = 4;
/// Largest message either side accepts, and largest blob: a blob and the bytes around it fit one message.
inline constexpr int kMaxMessageBytes = 64 << 20;
inline constexpr size_t kMaxBlobBytes = 48 << 20;

/// The key by which a blob is asked for, kept and shared, by sessions that need not trust each other. Not the content
/// hash of the module in it.
inline Hash128 blob_id(std::string_view data) { return secure_hash(data); }

/// The values are those of proto::ResultStatus.
enum class ResultStatus : uint8_t {
  kOk = 1,
  kInvalidConfig,
  kRejected,  ///< by the verifier or by a run-time bounds check
  kBuildFailed,
  kBuildTimeout,
  kRunFailed,
  kRunTimeout,
  kWrongResult,
  kDeviceLost,
  kCancelled,
};
inline constexpr ResultStatus kAllResultStatuses[] = {
    ResultStatus::kOk,           ResultStatus::kInvalidConfig, ResultStatus::kRejected,   ResultStatus::kBuildFailed,
    ResultStatus::kBuildTimeout, ResultStatus::kRunFailed,     ResultStatus::kRunTimeout, ResultStatus::kWrongResult,
    ResultStatus::kDeviceLost,   ResultStatus::kCancelled};

/// "ok", "invalid_config", "rejected", … as stored in the database and shown to people.
std::string_view name(ResultStatus status);
std::optional<ResultStatus> parse_result_status(std::string_view name);

/// How a candidate is timed; see architecture.md, 6. On the wire a zero means the default written here.
struct MeasureProfile {
  uint32_t warmup = 1;         ///< untimed calls before the first repeat
  uint32_t repeats = 3;        ///< timed repeats
  double min_repeat_ms = 2;    ///< a repeat calls the kernel until this much time has passed
  double best_seconds = 0;     ///< the session's best so far; 0: none, nothing is censored or refined
  double censor_factor = 3;    ///< stop after a repeat slower than this times best_seconds; a huge one never stops
  double refine_factor = 1.1;  ///< within this factor of the best, measure again as below; a tiny one never does
  uint32_t refine_repeats = 10;
  double refine_repeat_ms = 5;
  bool flush_cache = false;     ///< evict the caches before every call
  double build_timeout_s = 10;  ///< per candidate
  double run_timeout_s = 10;    ///< floor of the run deadline, checks included
  uint32_t threads = 0;         ///< threads of the kernel's parallel loops; 0: as the module says
  /// Each call reads another copy of the constants, as a layer of a model finds its weights: out of the core's own
  /// caches. On CPUs.
  bool cold_constants = false;
  /// With them: bytes of all constants that a run of the model reads, so that a copy is read again where the model
  /// reads the constants again; 0: 16 MiB. Agents limit it.
  uint64_t cold_bytes = 0;

  bool operator==(const MeasureProfile&) const = default;
};

/// The expected outputs: values and allowed errors, which a module computes. The agent computes it once per
/// (module_hash, seed) and caches it.
struct Reference {
  Hash128 module_hash;  ///< blob: the reference Module
  uint64_t seed = 0;    ///< of the inputs
  /// One list for each output: flat indices of the elements to compare; empty: every element.
  std::vector<std::vector<int64_t>> samples;
  double timeout_s = 60;  ///< to compute the reference

  bool operator==(const Reference&) const = default;
};

/// A job that measures nothing: for tests and the fleet benchmark; only agents started to take it do.
struct FakePayload {
  double run_seconds = 0;
  ResultStatus status = ResultStatus::kOk;
  std::string padding;

  bool operator==(const FakePayload&) const = default;
};

/// The kind of target of devices that build for boards, and measure nothing.
inline constexpr std::string_view kBuilderKind = "builder";
/// Largest object of a job with `build`: machine code of one operator has 20 to 300 KB.
inline constexpr size_t kMaxObjectBytes = 1 << 20, kMaxObjectInfoBytes = 64 << 10;
inline constexpr size_t kNonceBytes = 32, kSignatureBytes = 64, kPublicKeyBytes = 32;

/// The job's only module is to be built for `target` and signed, and not run.
struct BuildPayload {
  std::string target;   ///< canonical
  std::string codegen;  ///< the code generator that must build it
  std::string nonce;    ///< kNonceBytes, new for each build; signed with the object
  Hash128 scope;        ///< modules of different scopes never meet in a process

  bool operator==(const BuildPayload&) const = default;
};

/// Machine code with its builder's signature; rpc/agent/supervise/signed_object.h says what is signed.
struct SignedObject {
  std::string object;     ///< an ELF shared object; empty: its module could not be built, and why is signed
  std::string info;       ///< agent::ModuleInfo as bytes
  int64_t expires = 0;    ///< seconds since 1970
  std::string signature;  ///< kSignatureBytes

  bool operator==(const SignedObject&) const = default;
};

/// One job: normally one candidate; several are measured interleaved (how finalists are confirmed). Either `modules` or
/// `fake`.
struct Job {
  uint64_t seq = 0;              ///< with the session's uuid: the job's identity
  std::vector<Hash128> modules;  ///< blobs the session holds
  std::optional<FakePayload> fake;
  MeasureProfile profile;
  std::optional<Reference> reference;
  std::optional<BuildPayload> build;  ///< with one module, which is built for another machine

  /// The number of CandidateResults in its answer.
  size_t candidates() const { return fake ? 1 : modules.size(); }
  bool operator==(const Job&) const = default;
};

/// Each phase has a clock of its own.
struct PhaseTimes {
  double queue = 0;     ///< in the tracker, from submission to lease (the tracker fills it in)
  double transfer = 0;  ///< blobs
  double build = 0;
  double check = 0;      ///< prepack, packing, comparing
  double run = 0;        ///< warm-up and timed repeats
  double reference = 0;  ///< computing the reference, when this job had to
  /// The device had nothing leased between its previous batch and this job's, of the same session. Counted in one job
  /// of the batch, so that a sum over jobs is the device's idle time.
  double idle = 0;

  bool operator==(const PhaseTimes&) const = default;
};

struct CandidateResult {
  ResultStatus status = ResultStatus::kOk;
  std::string message;        ///< one line; empty when ok
  std::vector<double> times;  ///< seconds per call, one entry a repeat, in the order taken
  bool censored = false;      ///< stopped early: the times are a lower bound
  double rel_error = 0;
  double max_error = 0;

  bool operator==(const CandidateResult&) const = default;
};

/// The machine around a job's timed calls: just before the first one and just after the last, as far as it tells. Empty
/// and null: not known.
struct MachineState {
  std::string governor;  ///< of the CPUs in use: "performance", or several: "ondemand, schedutil"
  std::optional<double> temperature_before_c, temperature_after_c;  ///< of the hottest CPU package
  std::optional<double> clock_before_mhz, clock_after_mhz;          ///< mean of the CPUs in use
  std::string throttled;  ///< why it ran slower than it could, before or after: as DeviceHealth has it

  bool operator==(const MachineState&) const = default;
};

struct JobResult {
  Uuid session;
  uint64_t seq = 0;
  std::vector<CandidateResult> candidates;  ///< as many as the job had
  PhaseTimes phases;
  std::string device;          ///< NAME/cpu; empty when no device saw the job
  double sentinel_before = 0;  ///< seconds per call of the device's sentinel kernel around this job's batch
  double sentinel_after = 0;
  uint32_t attempts = 0;  ///< leases this job took (the tracker fills it in)
  bool drifted = false;   ///< the device was disturbed and stayed so: the times are the best that could be had
  /// How often the job, or repeats of it, were timed again because of disturbances.
  uint32_t remeasured = 0;
  std::optional<SignedObject> built;    ///< of a job with `build`
  std::optional<MachineState> machine;  ///< null: of a device that is not its host's CPU, of an older agent

  bool operator==(const JobResult&) const = default;
};

struct DeviceInfo {
  std::string key;     ///< NAME/cpu; unique in the fleet
  std::string target;  ///< canonical text of the processor that it measures; its first word is the kind
  std::string model;   ///< provenance only
  uint64_t memory_bytes = 0;
  std::map<std::string, std::string> versions;  ///< hone, llvm, driver, os
  std::map<std::string, std::string> labels;
  std::vector<std::string> missing;   ///< protections the kernel did not offer
  std::vector<std::string> features;  ///< instruction sets and the like: "avx512f", "neon"
  std::string compute_capability;     ///< of a GPU: "9.0"

  bool operator==(const DeviceInfo&) const = default;
};

/// The present state of a device, as far as its machine tells.
struct DeviceHealth {
  std::string device;
  std::optional<double> temperature_c;
  std::optional<double> clock_mhz;
  /// why it runs slower than it could ("thermal"); empty: it does not, or the cause is not known
  std::string throttled;
  std::optional<double> load;  ///< share of the machine that is busy, 0 to 1, by any program
  std::string governor;        ///< how the kernel sets the clocks of the CPUs in use; empty: not known

  bool operator==(const DeviceHealth&) const = default;
};

struct LeaseId {
  Uuid session;
  uint64_t seq = 0;
  uint64_t epoch = 0;  ///< grows with each lease of a job: a result under an old one is dropped

  auto operator<=>(const LeaseId&) const = default;
};

struct Lease {
  LeaseId id;
  std::string device;
  Job job;

  bool operator==(const Lease&) const = default;
};

struct Blob {
  Hash128 hash;  ///< blob_id(data); checked by the receiver
  std::string data;

  bool operator==(const Blob&) const = default;
};

/// For people: the dashboard and `tracker status`.
/// A workload of a model: how many of its layers it is, and seconds of one of them.
struct TaskSummary {
  std::string workload;
  double count = 0, seconds = 0, default_seconds = 0;
  uint64_t trials = 0;
  std::string config_name{};  ///< as Summary::best_config_name

  bool operator==(const TaskSummary&) const = default;
};
/// A session that tunes a model reports this about the model.
struct ModelSummary {
  double seconds = 0, default_seconds = 0;  ///< of a run, with the best so far and the defaults; 0: not known yet
  uint64_t tasks = 0, missing = 0;          ///< workloads, and how many of them have no time yet
  std::vector<TaskSummary> slowest;         ///< kMaxTasks at most, by their share of a run
  double measured_seconds = 0, measured_default_seconds = 0;  ///< of the workloads that have a time; 0: not known

  /// The share of the default time that the search left of the workloads measured so far, 0.7 say; 0: not known.
  double share() const { return measured_default_seconds > 0 ? measured_seconds / measured_default_seconds : 0; }

  static constexpr size_t kMaxTasks = 32;
  bool operator==(const ModelSummary&) const = default;
};

struct Summary {
  uint64_t trials = 0, budget = 0;
  double best_gflops = 0, best_seconds = 0, trials_per_second = 0;
  std::map<std::string, uint64_t> by_status;
  std::string best_config;
  std::optional<ModelSummary> model;
  std::string best_config_name{};  ///< best_config's name for people, `winograd4` say; may be empty

  bool operator==(const Summary&) const = default;
};

/// The request that opens a session. A device serves it when everything given here matches: kind, key, target, every
/// label.
struct SessionOpen {
  uint32_t protocol = kProtocolVersion;
  Uuid session;
  std::string title;                ///< shown to people: the workload's text
  std::string target_kind;          ///< llvm, cuda, opencl
  std::string device_key;           ///< a device, an agent or a label (k=v); empty: any device of the kind
  double weight = 1;                ///< its share of the devices, relative to the other sessions'
  int32_t priority = 0;             ///< sessions of a higher one go first
  std::string target;               ///< canonical target, when fixed: only devices with exactly this one match
  std::vector<std::string> labels;  ///< k=v each

  bool operator==(const SessionOpen&) const = default;
};

}  // namespace hone::wire

template <>
struct std::hash<hone::wire::LeaseId> {
  size_t operator()(const hone::wire::LeaseId& l) const {
    return std::hash<hone::wire::Uuid>()(l.session) ^ (l.seq * 0x9e3779b97f4a7c15ULL) ^ (l.epoch << 1);
  }
};
