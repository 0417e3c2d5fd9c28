// The file of --tasks: workloads, one a line.
//
//   # comment
//   conv2d(n=1,ci=64,h=56,w=56,co=64)    2     a canonical or abbreviated text, and how often it runs (default 1)
//   dense m=128,n=768,k=768                    as --task and --args say it
//   max_pool2d
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ops/operator.h"

namespace hone {

struct WeightedWorkload {
  Workload workload;
  double weight = 1;
  double times_per_constant = 1;  ///< how often it runs, one time after the other, on the same constants
  double seconds_now = 0;         ///< as TaskSetup::seconds_now
  bool is_tuned_now = false;      ///< as TaskSetup::is_tuned_now
};

/// The tasks of `text`, at least one, each once. Errors are one line, `PATH:LINE: what`.
StatusOr<std::vector<WeightedWorkload>> parse_tasks(const OperatorTable& operators, const std::string& text,
                                                    const std::string& path);
/// Reads the file as well.
StatusOr<std::vector<WeightedWorkload>> read_tasks(const OperatorTable& operators, const std::string& path);

/// The same as text that parse_tasks() reads.
std::string tasks_text(const std::vector<WeightedWorkload>& tasks);

/// A short text of the task: its name and the attributes that differ from their defaults: `conv2d
/// ci=128,h=28,w=28,co=128`.
std::string short_text(const Workload& workload);

}  // namespace hone
