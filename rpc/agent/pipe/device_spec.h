// Which device of this machine a builder builds for and a runner measures on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hone::agent {

/// The CPU; behind it the kinds of GPUs, in the order of target/gpu_kinds.h.
enum class DeviceKind : uint8_t { kCpu };

struct DeviceSpec {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;      ///< in the order in which the driver lists its devices
  int api_major = 0;  ///< the newest version of its API (CUDA) whose binaries the driver runs; 0: not known
  bool is_gpu() const { return kind != DeviceKind::kCpu; }
  bool operator==(const DeviceSpec&) const = default;
};

/// "llvm", "cuda", "opencl": the first word of the targets that a kind of device serves.
std::string_view target_kind_of(DeviceKind kind);
std::optional<DeviceKind> device_kind_of(std::string_view target_kind);
/// All but the CPU, in the order in which they are looked for: the rows of target/gpu_kinds.h.
std::vector<DeviceKind> gpu_device_kinds();

/// As devices are called behind their agent's name: "cpu", "cuda0", "opencl1".
std::string device_name(const DeviceSpec& spec);

/// For the command line of builders and runners, and back: "opencl:1:0". Nothing when `text` is none.
std::string to_string(const DeviceSpec& spec);
std::optional<DeviceSpec> parse_device_spec(const std::string& text);

/// Arguments on the command line of a builder and of a runner, from the agent: `PROGRAM THREADS FOLDER DEVICE MEMORY`.
struct ChildArguments {
  int threads = 1;     ///< of candidates on the CPU
  std::string folder;  ///< where artifacts are
  DeviceSpec device;
  uint64_t memory = 0;  ///< bytes, as MemoryShares defines them
};
/// Nothing when they are not of that form: a person started the program by hand.
std::optional<ChildArguments> parse_child_arguments(int argc, char** argv);

}  // namespace hone::agent
