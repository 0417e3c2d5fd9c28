// Features of a lowered candidate: one float vector of fixed width for any Module in loop form, on any target. CPU
// programs and GPU programs have different features, and no model sees both.
//
// Loops, operations and accesses are read off the loop form without unrolling it: an access is an affine function of
// the loops around it, so footprints, strides and reuse at every level follow from its coefficients. The statement with
// the most work is described in full, the next one in short, everything together in totals. Counts and ratios enter as
// log2, never as a ratio of logs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "compiler/ir/module.h"
#include "compiler/target/target.h"

namespace hone {

inline constexpr int kFeatureCount = 156;

using Features = std::array<float, kFeatureCount>;

/// The two kinds of features.
enum class FeatureSet : uint8_t { kCpu, kGpu };
/// The feature set for a target's first word: GPUs' for "cuda" and "opencl".
FeatureSet feature_set(std::string_view target_kind);

/// Never fails and never gives NaN or infinity, for any Module. Some 10 us for a convolution of a CPU.
Features features_of(const Module& m, const Target& target);

/// A candidate's score by a model without learning (a roofline of every statement): higher is faster. Decides which
/// configs are measured first.
float draft_score(const float* features);

/// `main.flops`, …: one name a feature.
const std::vector<std::string>& feature_names(FeatureSet set = FeatureSet::kCpu);

/// Changes with the names, their order or (by a hand-bumped revision) their meaning: rows of another schema are not
/// mixed.
Hash128 feature_schema(FeatureSet set = FeatureSet::kCpu);

}  // namespace hone
