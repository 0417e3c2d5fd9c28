// Sums in f16: of runs of products, which are added in f32. A sum of n equal terms stands still in f16 once it is 2048
// times as large as they are, and its error grows with its length; a run's error is bounded by its length.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ops/definition.h"
#include "compiler/ops/workload.h"
#include "compiler/target/target.h"

namespace hone {

/// Products of a run at most, where a step of the reduction has fewer: 16 channels of a 3 x 3 window.
inline constexpr int64_t kMostOfRun = 144;

/// A reduction cut into runs.
struct Runs {
  int64_t count = 1, length = 1;  ///< the last run may be shorter than `length`
  bool operator==(const Runs&) const = default;
};

/// `extent` steps of `products` each. Runs are of equal length where a divisor of the extent that is not much shorter
/// than a run may be allows it.
Runs runs_of(int64_t extent, int64_t products = 1);

/// A reduction over input channels that lie in blocks of `block` (a divisor of `channels`), cut into equal runs that
/// are whole blocks or divide one, with `products` for each channel. A run has at least one channel.
Runs runs_of_channels(int64_t channels, int64_t block, int64_t products);

/// A stage `sum`: `run` in type `t`, for the stages behind it. `run` becomes the anchor.
Tensor widened(DType t, const std::vector<std::string>& axes, const Tensor& run, Definition* d);

/// Whether a workload's products are summed so.
bool has_runs(const Workload& w);

/// UserError where `w` sums in f16 and `target` cannot.
void check_runs(const Workload& w, const Target& target);

}  // namespace hone
