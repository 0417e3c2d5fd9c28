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
  /// A kernel did so many GFLOPS, of operations that it surely executes (an algorithm with fewer operations than the
  /// direct one passes the peak by the direct one's count). Where that is more than the peak, this measures again, a
  /// few tries at most. True when the peak has risen by it. What still beats the peak afterwards is not believed:
  /// counts are exact to some per cent only.
  bool beaten_by(double kernel_gflops);

  static constexpr int kTries = 5;

 private:
  const std::function<double()> measure_;
  const std::function<void()> pause_;
  double best_;
};

}  // namespace hone
