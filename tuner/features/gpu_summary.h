// Figures of a GPU program: how warps access memory, the needs of blocks, how many of them a multiprocessor holds, and
// a roofline from these.
#pragma once

#include <vector>

#include "compiler/target/target.h"
#include "tuner/features/nest.h"

namespace hone::nest {

/// One access as a warp performs it.
struct WarpAccess {
  const Access* access = nullptr;
  /// Vector loads or stores of a thread, over all its executions; an operand that the unrolled body uses again counts
  /// once.
  double loads = 0;
  double vector = 1;      ///< elements moved at a time
  double sectors = 1;     ///< device memory: distinct pieces of 32 bytes of one load of a warp
  double wavefronts = 1;  ///< shared memory: cycles of one load of a warp, bank conflicts included
  double useful = 1;      ///< useful share of the sectors' bytes
};

/// One statement on all of a launch's threads.
struct GpuStatement {
  const Statement* statement = nullptr;
  double blocks = 1, threads = 1;    ///< threads of a block that execute it
  double executions = 1;             ///< executions by one thread
  double tensor = 1;                 ///< iterations that tensor cores execute at a time
  int body = 0;                      ///< the innermost loops from here on are unrolled or vectors
  std::vector<WarpAccess> accesses;  ///< the store first; private buffers left out
};

/// `s` as warps execute it: threads of consecutive numbers, each at the first iteration of its other loops.
GpuStatement gpu_statement(const Statement& s, const Target& target);

/// The same of a whole module.
struct GpuSummary {
  std::vector<GpuStatement> statements;
  double blocks = 1, threads = 1;  ///< of the statement that needs the most
  double shared_bytes = 0;         ///< bytes of a block
  double registers = 0;            ///< 32-bit registers of a thread, estimated
  double resident_blocks = 1;      ///< on a multiprocessor at the same time, by threads, registers and shared memory
  double waves = 1;                ///< blocks over the number that all multiprocessors hold
  double barriers = 0;             ///< barriers of a block
  /// of all blocks: bytes that warps move, and bytes of the parameters
  double flops = 0, global_bytes = 0, least_bytes = 0;
  double shared_cycles = 0;  ///< of all blocks, on one multiprocessor

  /// Warps on a multiprocessor over what it can hold.
  double occupancy(const Target& target) const;
};

GpuSummary gpu_summary(const Module& m, const Nests& nests, const Target& target);

/// Cycles of the whole module.
struct GpuCycles {
  double compute = 0, shared = 0, global = 0, memory = 0, issue = 0, barriers = 0;
  double tail = 1;    ///< factor for the partly empty last wave of blocks
  double hidden = 1;  ///< share of its latencies that the multiprocessor hides with other warps: 1 is all
  double total() const;
};
GpuCycles gpu_cycles(const GpuSummary& g, const Target& target);

}  // namespace hone::nest
