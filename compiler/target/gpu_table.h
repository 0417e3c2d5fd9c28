// The tables of architectures. Private to compiler/target.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hone {

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

std::span<const GpuEntry> nvidia_gpus();

/// The entry of `arch` in the table of that kind of GPU; null when there is no such entry, or no table.
const GpuEntry* find_gpu(std::string_view kind, std::string_view arch);
/// `sm_53, sm_60, ...`
std::string known_gpus(std::string_view kind);

}  // namespace hone
