// Which workloads may stand for each other, as far as their keys tell: the same task with the same attributes, whose
// numbers alone differ. How near two are is the reader's to say; here candidates are found among all that are known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hone::db {

struct WorkloadShape {
  std::string group;            ///< hash of all but the numbers; epilogue, prologue and definition count for neither
  std::vector<double> numbers;  ///< log2(1 + n) of each number, in order
  double size = 0;              ///< their sum: two workloads are at least as far apart as their sizes
};

/// `workload` is canonical; InvalidArgument where it is no workload.
StatusOr<WorkloadShape> shape_of(std::string_view workload);

/// WorkloadShape::numbers alone.
StatusOr<std::vector<double>> shape_numbers(std::string_view workload);

/// Sum of the factors between the numbers of two workloads of one group, as logarithms.
double distance(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace hone::db
