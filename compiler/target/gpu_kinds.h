// The kinds of GPUs that code is generated for: one row each, which all rooms that differ by kind read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hone {

/// One architecture, and the limits of its multiprocessors.
struct GpuEntry {
  std::string_view arch;
  int sms;               ///< of the usual card; devices differ
  int registers_per_sm;  ///< of 32 bits
  int registers_per_block;
  int warps_per_sm;   ///< at once
  int blocks_per_sm;  ///< at once
  int shared_kib_per_sm;
  int reserved_shared_kib;   ///< of it, for each block
  int shared_per_block_kib;  ///< at most, asked for at the launch
};

struct GpuKind {
  std::string_view name = {};  ///< the first word of its targets, and what its devices are called: `cuda`
  /// The architectures that its targets name (-arch); empty: they name none, and -warp says how wide its warps are.
  std::span<const GpuEntry> architectures = {};
  // Defaults for a device whose target does not say.
  int64_t shared_bytes = 48 << 10;
  int max_threads = 1024, warp = 32;
  // Limits of the kind's multiprocessors: warps get registers in multiples of `register_unit`, a thread has at most
  // `most_registers`, and each multiprocessor has `schedulers` schedulers with warps of their own.
  int64_t register_unit = 1, most_registers = 0, schedulers = 1;

  std::string_view example = {};  ///< a target of a device that is not here: `cuda -arch=sm_XX`
  std::string_view texts = {};    ///< the values of `--emit` for it, from its own language on: `cuda, ptx`
  /// Hone compiles for it, by a compiler of its vendor or by LLVM; else its driver compiles its text.
  bool compiles_ahead = false;

  int32_t device_type = 0;                          ///< DLPack's type of its memory
  std::span<const int32_t> host_device_types = {};  ///< DLPack's types of memory that it shares with the host
  bool has_addresses = false;                       ///< a tensor's data is an address; else a handle of a whole buffer

  std::string_view opencl_platform = {};       ///< OpenCL's name of the platform of the same devices; empty: none
  std::span<const char* const> settings = {};  ///< environment variables that its driver and its compilers read
  std::span<const char* const> caches = {};    ///< those that say in which folder the driver keeps what it compiled
};

/// In the order in which devices are looked for.
std::span<const GpuKind> gpu_kinds();
/// Null when there is no such kind.
const GpuKind* find_gpu_kind(std::string_view name);
/// InternalError when there is no such kind.
const GpuKind& gpu_kind(std::string_view name);
/// The kind whose memory is of this DLPack type; InternalError when there is none.
const GpuKind& gpu_kind_of(int32_t device_type);

/// The entry of `arch` of that kind of GPUs; null when there is no such entry, or no such kind.
const GpuEntry* find_gpu(std::string_view kind, std::string_view arch);
/// `sm_53, sm_60, ...`
std::string known_gpus(std::string_view kind);

/// The words of all kinds, for people: `cuda, opencl` with ", " before the last one, `cuda or opencl` with " or ".
std::string of_gpu_kinds(std::string_view GpuKind::*words, std::string_view before_last);
/// `llvm, cuda, opencl`
std::string target_kinds(std::string_view before_last = ", ");

}  // namespace hone
