#include "compiler/runtime/measured_peak.h"

#include <algorithm>
#include <utility>

namespace hone {

MeasuredPeak::MeasuredPeak(std::function<double()> measure, std::function<void()> pause, double known)
    : measure_(std::move(measure)), pause_(std::move(pause)), best_(known) {}

void MeasuredPeak::measure(int tries) {
  for (int i = 0; i < tries; ++i) {
    if (i > 0) pause_();
    best_ = std::max(best_, measure_());
  }
}

bool MeasuredPeak::beaten_by(double kernel_gflops) {
  const double before = best_;
  for (int i = 0; i < kTries && kernel_gflops > best_; ++i) {
    pause_();
    measure(1);
  }
  return best_ > before;
}

}  // namespace hone
