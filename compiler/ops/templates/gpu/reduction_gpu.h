// Reductions on GPUs: the threads of a row reduce its elements in turn, then combine their results.
#pragma once

#include <string>
#include <vector>

#include "compiler/ops/rewrite/split_reduction.h"
#include "compiler/schedule/schedule.h"

namespace hone {

/// Values of a GPU reduction's knobs.
struct GpuReduceChoices {
  int64_t chunks;  // chunks of a row, each reduced by a block
  int64_t lanes;   // threads of a row
  int64_t rows;    // rows of a block
  int64_t unroll_k;
  // How many of a row's threads combine their results by shuffles; 1: all in shared memory.
  int64_t warp;
  bool along;  // the reduced axis is contiguous in memory: neighbouring threads belong to one row
};

/// Schedules the stages of reductions that split_reduction() made.
class GpuReductions {
 public:
  /// `stages` are those of the definition that `s` computes.
  GpuReductions(Schedule& s, const std::vector<const TensorNode*>& stages, const GpuReduceChoices& k)
      : s_(s), stages_(stages), k_(k) {}

  /// Schedules the stage `reduction` and its partial stages in blocks and threads of the nest of stage `writer`;
  /// `partials` as split_reduction lists them.
  void schedule(const std::string& reduction, const std::string& writer, const std::vector<std::string>& partials);

  /// The same for a block that is bound already: `partials`, not empty, under its loop `block`.
  void schedule_partials(const std::vector<std::string>& partials, LoopRef block);

  /// Stage `t`, without a reduction and with one element a row, in shared memory under `block`, by one thread a row.
  void compute_rows(BlockRef stage, const TensorNode* t, LoopRef block);

  /// Each thread's own part of reduction `t`, under the block's loop `at`; `lanes`: its last axis is the lanes.
  void reduce(BlockRef block, const TensorNode* t, LoopRef at, bool lanes);

 private:
  const TensorNode* stage(const std::string& name) const;
  size_t first_shared(const std::vector<std::string>& partials) const;
  std::vector<LoopRef> own_loops(BlockRef block, size_t count) const;
  LoopRef bind_writer(BlockRef writer);
  void bind_threads(const std::vector<LoopRef>& own, size_t spatial, bool lanes, const std::vector<LoopRef>& inside);
  void combine(BlockRef block, const TensorNode* t, LoopRef at);
  void combine_warps(BlockRef block, const TensorNode* t, LoopRef at);

  Schedule& s_;
  const std::vector<const TensorNode*>& stages_;
  const GpuReduceChoices& k_;
};

}  // namespace hone
