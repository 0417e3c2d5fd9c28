// How the generic CPU templates schedule one nest: a stage in vectors, or a reduction in lanes or in vectors with the
// stage that writes its result.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ops/rewrite/split_reduction.h"
#include "compiler/schedule/schedule.h"

namespace hone {

/// Values of a nest's knobs.
struct FusedChoices {
  int64_t block = 1;   // lanes of a vector loop along the output's last axis
  int64_t unroll = 1;  // vector loops side by side
  int64_t chunks = 1;  // chunks of the reduction, in parallel
  int64_t lanes = 1;   // lanes of the reduction: more than one when it runs along the contiguous axis
  int64_t rows = 1;    // rows side by side in a reduction with lanes
  int64_t unroll_k = 1;
  int64_t prefetch = 0;  // for a reduction in lanes: prefetches the data of so many steps later
  bool parallel = true;
  int64_t vector_bits = 0;
};

/// The product of the first `count` extents.
int64_t product_of(const std::vector<int64_t>& extents, size_t count);

/// True when the last axis of reduction `r` walks through the contiguous dimension of the largest tensor it reads.
bool reduces_neighbours(const TensorNode* r);

/// How many chunks the first axis of reduction `r` may be cut into for `threads` threads; 1 is one of them.
std::vector<int64_t> reduction_chunk_counts(const TensorNode* r, int64_t threads);

/// Instructions of `e`, roughly; `inlined` are those of stages that are computed where they are read.
int64_t instructions_of(const Expr& e, const std::map<const BufferNode*, int64_t>& inlined);
/// Stages of more instructions are not inlined: statements would become too long.
inline constexpr int64_t kMostInstructions = 400;

/// A block's own loops: the innermost `count`.
std::vector<LoopRef> own_loops(const Schedule& s, BlockRef block, size_t count);

/// for i…, j   ->   parallel tiles: j_u unrolled: j_v vector. Returns the loop over tiles.
LoopRef schedule_vectors(Schedule& s, BlockRef writer, const FusedChoices& k);

/// Schedules the reduction `block` with `spatial` axes under `tile`: its reduction loops outside, the last spatial axis
/// in vectors side by side inside.
void reduce_in_vectors(Schedule& s, BlockRef block, LoopRef tile, size_t spatial, size_t reduced,
                       const FusedChoices& k);

/// Schedules a partial stage under `tile`: the last of its `spatial` axes is the lanes, the one before it the rows.
void reduce_in_lanes(Schedule& s, BlockRef block, LoopRef tile, size_t spatial, size_t reduced, const FusedChoices& k);

/// Schedules reduction `name` (the chunks' or the whole) of `split`, whose definition has these stages, in the nest of
/// stage `writer`: itself, or one that reads it element by element.
void schedule_reduction(Schedule& s, const std::vector<const TensorNode*>& stages, const ReductionSplit& split,
                        const std::string& name, const std::string& writer, const FusedChoices& k);

}  // namespace hone
