// `tophub list`: the best configs as a table for people.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "db/rows.h"

namespace hone::db {

/// How the compiler describes a best to people; empty and 0 when it does not know the workload or the space.
struct BestInWords {
  std::string name;    ///< of its config, a word or two: `winograd4`, `dynamic`, `default`
  std::string config;  ///< the whole config with its words: `algorithm=winograd4,tile_p=4`
  double gflops = 0;
};
using DescribeBest = std::function<BestInWords(const BestRow&)>;

/// One row of each workload and target, in their order: the fastest of its best class among the layouts.
std::vector<BestRow> one_per_workload(const std::vector<BestRow>& rows);

/// A target as it is recognized: its kind, CPU or architecture and threads: `llvm znver3 x8`, `cuda sm_90`.
std::string short_target(const std::string& target);

/// A line a row under a heading, each cut to `columns` (0: not at all): time, speed, config, standing, day, target,
/// workload. Targets with the same short name are shown with their whole text. `describe` may be empty.
std::string listing(const std::vector<BestRow>& rows, const DescribeBest& describe, size_t columns);

/// A line for each word of the listing's standing that needs one, `provisional` and `disturbed`: what it means.
std::string standing_legend(const std::vector<BestRow>& rows);

}  // namespace hone::db
