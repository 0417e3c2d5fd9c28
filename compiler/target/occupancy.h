// How much of a multiprocessor the blocks of a kernel fill.
#pragma once

#include "compiler/target/target.h"

namespace hone {

/// Resources that a block of a kernel needs.
struct BlockNeeds {
  int64_t threads = 1;
  int64_t registers = 0;  ///< of a thread, of 32 bits
  int64_t shared_bytes = 0;
};

/// Warps that a multiprocessor of `target` holds at once; 0 when not even one block fits. Where no more is known of a
/// device than what a block may have (OpenCL): those of one block.
int64_t resident_warps(const Target& target, const BlockNeeds& block);

/// Warps below which a multiprocessor of `target` has schedulers with nothing to do; 1 where that is not known.
int64_t least_warps(const Target& target);

}  // namespace hone
