// Runs an artifact on memory in which something was left.
#pragma once

#include <algorithm>
#include <string>

#include "compiler/model/run_model.h"
#include "tests/fakes/leftovers.h"

namespace hone {

/// An artifact for CPUs that runs again and again on the tensors of one that has run, with an arena whose contents the
/// caller knows. Single-threaded where `first` is.
class LeftoverArena {
 public:
  /// `again`: the same artifact loaded once more. Both outlive this.
  LeftoverArena(const LoadedModel& first, LoadedModel& again)
      : first_(first), again_(again), arena_(std::max<int64_t>(1, again.workspace_bytes())) {
    again_.run_where(first_, arena_);
  }

  void fill(const Leftover& what) {
    fill_with(what, arena_.data(), arena_.bytes());
    fill_stack_with(what);
  }
  /// Runs with the present contents of the arena; false if it fails.
  bool run() { return again_.run_again() == HONE_OK; }
  /// Seconds of each layer.
  std::vector<double> run_timed() { return again_.run_again_timed(); }

  /// The first difference from the first run's outputs, bit by bit, for any leftover; empty: there is none.
  std::string difference() {
    const std::vector<TensorData> wanted = first_.outputs();
    for (const Leftover& what : kLeftovers) {
      fill(what);
      if (!run()) return "it fails on memory of " + std::string(what.name);
      const std::vector<TensorData> got = first_.outputs();
      for (size_t o = 0; o < wanted.size(); ++o)
        if (!std::ranges::equal(got[o].bytes(), wanted[o].bytes()))
          return "output " + std::to_string(o) + " is another one on memory of " + what.name;
    }
    return "";
  }

 private:
  const LoadedModel& first_;
  LoadedModel& again_;
  AlignedBuffer arena_;
};

}  // namespace hone
