#include "rpc/agent/sandbox/sandbox_profile.h"

#include <algorithm>
#include <array>

namespace hone::agent {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20, kGiB = uint64_t{1} << 30;
constexpr uint64_t kTensorBytes = uint64_t{1} << 46;  // as SharedMemory

// Shared libraries. Names of distributions with and without a merged /usr.
constexpr const char* kLibraries[] = {"/usr/lib", "/usr/lib64", "/lib", "/lib64"};
// A forked candidate counts how long its threads waited for a core (core_wait.h): its folder in /proc has a name that
// is not known beforehand.
constexpr const char* kRunnerReads[] = {"/usr/lib", "/usr/lib64", "/lib", "/lib64", "/proc"};
// Drivers read their settings and the devices' properties.
constexpr const char* kGpuReads[] = {
    "/usr/lib",        "/usr/lib64",  "/lib",        "/lib64",           "/usr/share",
    "/usr/local/cuda", "/etc/OpenCL", "/etc/vulkan", "/etc/ld.so.cache", "/etc/nv_tegra_release",
    "/proc",           "/sys"};

// ... and drivers that compile for the host's cores run its linker.
constexpr const char* kOpenclReads[] = {"/usr/lib",
                                        "/usr/lib64",
                                        "/lib",
                                        "/lib64",
                                        "/usr/share",
                                        "/usr/bin",
                                        "/usr/local/cuda",
                                        "/etc/OpenCL",
                                        "/etc/ld.so.cache",
                                        "/etc/alternatives",
                                        "/proc",
                                        "/sys"};

// Both lists, one behind the other.
template <size_t N, size_t M>
constexpr std::array<const char*, N + M> joined(const std::array<const char*, N>& a,
                                                const std::array<const char*, M>& b) {
  std::array<const char*, N + M> out = {};
  std::copy(b.begin(), b.end(), std::copy(a.begin(), a.end(), out.begin()));
  return out;
}

// Machines have up to sixteen of NVIDIA's GPUs; its OpenCL opens them all, as its CUDA does.
constexpr std::array kNvidiaNodes = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-caps",
                                     "/dev/nvidia0",   "/dev/nvidia1",    "/dev/nvidia2",          "/dev/nvidia3",
                                     "/dev/nvidia4",   "/dev/nvidia5",    "/dev/nvidia6",          "/dev/nvidia7",
                                     "/dev/nvidia8",   "/dev/nvidia9",    "/dev/nvidia10",         "/dev/nvidia11",
                                     "/dev/nvidia12",  "/dev/nvidia13",   "/dev/nvidia14",         "/dev/nvidia15"};
// Tegra's: the memory, then the GPU as L4T 32 has it (nvhost-*), then as L4T 34 to 36 do (the folder nvgpu,
// host1x-fence).
constexpr std::array kTegraNodes = {"/dev/nvmap",
                                    "/dev/nvhost-ctrl",
                                    "/dev/nvhost-ctrl-gpu",
                                    "/dev/nvhost-as-gpu",
                                    "/dev/nvhost-gpu",
                                    "/dev/nvhost-tsg-gpu",
                                    "/dev/nvhost-ctxsw-gpu",
                                    "/dev/nvhost-dbg-gpu",
                                    "/dev/nvhost-prof-gpu",
                                    "/dev/nvhost-prof-ctx-gpu",
                                    "/dev/nvhost-prof-dev-gpu",
                                    "/dev/nvhost-sched-gpu",
                                    "/dev/nvhost-power-gpu",
                                    "/dev/nvgpu",
                                    "/dev/host1x-fence",
                                    "/dev/nvsciipc"};
constexpr std::array kOtherNodes = {"/dev/dri", "/dev/kfd", "/dev/mali0", "/dev/kgsl-3d0"};
constexpr auto kCudaNodes = joined(kNvidiaNodes, kTegraNodes);
constexpr auto kOpenclNodes = joined(kOtherNodes, kNvidiaNodes);

using enum SyscallGroup;
constexpr SyscallGroup kBuilderCalls[] = {kCompute, kLoad, kFiles, kHostLock};
// threads: its candidates' pools.
constexpr SyscallGroup kRunnerCalls[] = {kCompute, kLoad, kMemory, kThreads, kChildren, kHostLock};
// kLoad is dropped once the kernel is loaded.
constexpr SyscallGroup kCandidateCalls[] = {kCompute, kLoad};
constexpr SyscallGroup kGpuBuilderCalls[] = {kCompute, kLoad, kFiles, kHostLock, kThreads};
constexpr SyscallGroup kCudaCalls[] = {kCompute, kLoad, kFiles, kThreads, kDevice};
constexpr SyscallGroup kCudaRunnerCalls[] = {kCompute, kLoad, kFiles, kMemory, kThreads, kChildren, kHostLock, kDevice};
// Threads may start programs: the fork that does it is a process of its own for a moment.
constexpr SyscallGroup kOpenclCalls[] = {kCompute, kLoad, kFiles, kThreads, kChildren, kDevice, kPrograms};
constexpr SyscallGroup kOpenclRunnerCalls[] = {kCompute,  kLoad,     kFiles,  kMemory,  kThreads,
                                               kChildren, kHostLock, kDevice, kPrograms};

using enum SandboxRole;
constexpr auto kAddresses = MemoryMeasure::kAddressSpace;
constexpr auto kResident = MemoryMeasure::kResident;

// A conv2d candidate takes a builder about 150 MB; a module that needs 6 GiB is not worth compiling. Artifacts are some
// 20 to 300 KB: 64 MiB a file and 32 files bound what can be hidden in files without a name. A runner's tensors are
// such files; it opens no file for writing.
constexpr SandboxProfile kTable[] = {
    {"llvm", kBuilder, kAddresses, 6 * kGiB, 64 * kMiB, 32, true, kLibraries, {}, kBuilderCalls},
    {"llvm", kRunner, kAddresses, 0, kTensorBytes, 256, false, kRunnerReads, {}, kRunnerCalls},
    {"llvm", kCandidate, kAddresses, 0, 1, 0, false, kLibraries, {}, kCandidateCalls},
    {"cuda", kBuilder, kAddresses, 6 * kGiB, 64 * kMiB, 32, true, kGpuReads, {}, kGpuBuilderCalls},
    {"cuda", kRunner, kResident, 0, kTensorBytes, 256, true, kGpuReads, kCudaNodes, kCudaRunnerCalls},
    {"cuda", kCandidate, kResident, 8 * kGiB, 256 * kMiB, 256, true, kGpuReads, kCudaNodes, kCudaCalls},
    {"opencl", kBuilder, kAddresses, 6 * kGiB, 64 * kMiB, 32, true, kGpuReads, {}, kGpuBuilderCalls},
    {"opencl", kRunner, kResident, 0, kTensorBytes, 256, true, kOpenclReads, kOpenclNodes, kOpenclRunnerCalls},
    // Drivers compile into files.
    {"opencl", kCandidate, kResident, 8 * kGiB, 256 * kMiB, 256, true, kOpenclReads, kOpenclNodes, kOpenclCalls},
};

}  // namespace

bool SandboxProfile::may(SyscallGroup group) const {
  return std::find(calls.begin(), calls.end(), group) != calls.end();
}

const SandboxProfile* sandbox_profile(std::string_view kind, SandboxRole role) {
  const auto row = std::find_if(std::begin(kTable), std::end(kTable),
                                [&](const SandboxProfile& p) { return p.kind == kind && p.role == role; });
  return row == std::end(kTable) ? nullptr : row;
}

std::span<const SandboxProfile> sandbox_profiles() { return kTable; }

}  // namespace hone::agent
