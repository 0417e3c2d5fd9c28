// Collects the values of a feature vector, or their names: one code path, so that the two cannot disagree.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tuner/features/features.h"
#include "tuner/features/nest.h"

namespace hone {

class FeatureWriter {
 public:
  /// `out` has kFeatureCount values.
  explicit FeatureWriter(float* out) : out_(out) {}
  explicit FeatureWriter(std::vector<std::string>* names) : names_(names) {}

  void group(const char* name) { group_ = name; }
  void put(const char* name, double value, int index = -1) {
    if (names_) names_->push_back(std::string(group_) + "." + name + (index < 0 ? "" : std::to_string(index)));
    if (!std::isfinite(value)) ++broken_;
    if (out_ && count_ < kFeatureCount)
      out_[count_] = std::isfinite(value) ? static_cast<float>(std::clamp(value, -1e6, 1e6)) : 0.0F;
    ++count_;
  }
  int count() const { return count_; }
  /// Values that were not finite: zeros in the vector.
  int broken() const { return broken_; }

 private:
  float* out_ = nullptr;
  std::vector<std::string>* names_ = nullptr;
  const char* group_ = "";
  int count_ = 0, broken_ = 0;
};

inline double log_of(double x) { return std::log2(1 + std::max(0.0, x)); }
/// The logarithm of a quotient (a quotient of logarithms means nothing).
inline double log_ratio(double a, double b) { return std::log2(std::max(a, 1e-6) / std::max(b, 1e-6)); }

/// The features of CPU programs and of GPU programs (gpu_features.cc), of the same width; the last two are the
/// roofline's.
void put_cpu_features(FeatureWriter& w, const Module& m, const Target& target);
void put_gpu_features(FeatureWriter& w, const Module& m, const Target& target);
void put_operations(FeatureWriter& w, const nest::Operations& ops, double times);

}  // namespace hone
