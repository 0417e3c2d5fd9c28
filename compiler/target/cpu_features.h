// The features of CPUs that Hone knows by name: one table for all that ask for them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

struct CpuFeature {
  std::string_view name;  ///< as LLVM has it: `avx512bf16`
  std::string_view arch;  ///< of targets that have it: x86_64, aarch64
  /// It changes the instructions that are generated: where a CPU model has it and a machine has not, or the other way
  /// around, the machine's target says so (`-mattr`).
  bool is_in_targets;
  /// Its place among what an artifact says it needs, from 1 on; 0: it does not name it, as every CPU of an
  /// architecture that is built for has it, or nothing that is generated uses it. compiler/api/cpu_features.c, which is
  /// C without this table, knows how to look for each of these; a test compares both.
  int needed;
  std::string_view kernel, shown;  ///< /proc/cpuinfo's word for it, and ours where devices are shown; empty: not shown
};

/// In the order in which targets name them.
std::span<const CpuFeature> cpu_features();

/// The features that artifacts for `arch` may need, in the order in which these name them.
std::vector<std::string_view> features_needed(std::string_view arch);

}  // namespace hone
