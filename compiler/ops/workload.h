// Workloads: which operator on which shapes. The canonical text is a database key.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/dtype.h"

namespace hone {

/// An operator with all its attributes. Equal workloads print equally and parse(to_string(w)) == w.
struct Workload {
  std::string task;                                             ///< a name of task_table()
  std::vector<std::pair<std::string, std::string>> attributes;  ///< all of the task's, in its order, canonical

  bool operator==(const Workload&) const = default;
  const std::string& text(std::string_view attribute) const;  ///< InternalError when the task has no such attribute
  int64_t number(std::string_view attribute) const;
  /// Two numbers `hxw`, or one that stands for both.
  std::pair<int64_t, int64_t> pair(std::string_view attribute) const;

  /// Reads a canonical or abbreviated text, `task(attribute=value,…)`: missing attributes take the task's defaults,
  /// grouped convolutions of groups = ci = co become depthwise_conv2d, f32 stands for f32:f32:f32:f32. UserError, one
  /// line, for an unknown task (lists the known ones), an unknown or repeated attribute, a value that is no number,
  /// zero, negative or too large, a kernel larger than the padded input, groups that do not divide the channels, an
  /// unknown layout, dtype, function or epilogue, axes or operands that do not fit the shape,
  /// `?` ("not supported yet").
  static Workload parse(std::string_view text);
  /// The same from --task and --args.
  static Workload parse(std::string_view task, std::string_view args);
};

std::string to_string(const Workload& w);

/// Operations of the direct algorithm, for GFLOPS: a multiply-add counts two, everything else (a comparison, exp) one.
/// Of pooling and reductions: one for each element that enters.
double flops(const Workload& w);

/// What --list prints: the tasks in order with their attributes and defaults.
struct TaskInfo {
  std::string_view name;
  std::string_view summary;
  std::vector<std::pair<std::string, std::string>> defaults;
};
const std::vector<TaskInfo>& task_table();

}  // namespace hone
