// A peak is the most that was ever seen: a busy neighbour makes each try less, never more.
#pragma once

#include <functional>

namespace hone {

class MeasuredPeak {
 public:
  /// `measure`: one try, in GFLOPS; `pause` stands between two, so that a neighbour that comes and goes does not spoil
  /// them all. `known`: of an earlier time.
  MeasuredPeak(std::function<double()> measure, std::function<void()> pause, double known = 0);

  /// The best so far.
  double gflops() const { return best_; }
  void measure(int tries);
  /// A kernel reached this many GFLOPS, counting operations that it certainly executes (by the direct algorithm's
  /// count, an algorithm with fewer operations would pass the peak). Where that is above the peak, this measures again,
  /// a few tries at most. True when the peak has risen to it. Otherwise the kernel's number is not believed: counts are
  /// exact to some per cent only.
  bool beaten_by(double kernel_gflops);

  static constexpr int kTries = 5;

 private:
  const std::function<double()> measure_;
  const std::function<void()> pause_;
  double best_;
};

}  // namespace hone
