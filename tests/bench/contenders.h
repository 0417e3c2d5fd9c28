// Programs that compute the same workload, timed beside each other in one process.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/target/target.h"

namespace hone::bench {

/// Something that computes a workload; only `run` is timed (weights are packed before).
struct Contender {
  std::string name;
  std::function<void()> run;
  /// Brings the calling thread to where `run` wants it, as long as its result lives; empty: anywhere. That takes
  /// microseconds, which are no part of a call.
  std::function<std::shared_ptr<void>()> place = {};
};

/// The module's kernel, on seeded inputs of its own.
Contender kernel_contender(std::string name, const Module& m, const Target& target);

/// Seconds per call of each contender, by name: the median over rounds in which all take their turn, a different one
/// first each time; a turn takes at least `min_round_ms`.
std::map<std::string, double> interleave(const std::vector<Contender>& contenders, int rounds, double min_round_ms);

/// 0 of none.
double geometric_mean(const std::vector<double>& values);

}  // namespace hone::bench
