#include "compiler/target/occupancy.h"

#include <algorithm>

#include "compiler/target/gpu_kinds.h"

namespace hone {
namespace {

int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

int64_t resident_warps(const Target& target, const BlockNeeds& block) {
  const int64_t warps = round_up(block.threads, target.warp) / target.warp;
  if (block.threads > target.max_threads || block.shared_bytes > target.shared_bytes) return 0;
  const GpuEntry* gpu = find_gpu(target.kind, target.arch);
  if (!gpu) return block.registers * block.threads <= target.registers_per_sm ? warps : 0;
  const GpuKind& kind = gpu_kind(target.kind);
  const int64_t registers = round_up(std::max<int64_t>(1, block.registers) * target.warp, kind.register_unit) * warps;
  if (block.registers > kind.most_registers || registers > gpu->registers_per_block) return 0;
  int64_t blocks =
      std::min<int64_t>({gpu->blocks_per_sm, gpu->warps_per_sm / warps, gpu->registers_per_sm / registers});
  if (block.shared_bytes > 0)
    blocks = std::min(blocks, (int64_t{gpu->shared_kib_per_sm} << 10) /
                                  (block.shared_bytes + (int64_t{gpu->reserved_shared_kib} << 10)));
  return blocks * warps;
}

int64_t least_warps(const Target& target) {
  return find_gpu(target.kind, target.arch) ? gpu_kind(target.kind).schedulers : 1;
}

}  // namespace hone
