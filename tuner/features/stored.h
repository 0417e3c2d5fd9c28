// Features as they are stored with a trial: models are trained on them later, without lowering every config again.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "tuner/features/features.h"

namespace hone {

/// The schema's hash (16 bytes), one bit for each feature that is not 0, then those as little-endian floats: some 550
/// bytes. Nothing is rounded: a model's thresholds are values from its training data, and a new candidate must fall on
/// the same side of them.
std::string store_features(const Features& features, FeatureSet set = FeatureSet::kCpu);

/// Reverses store_features(). FailedPrecondition for features of another schema, InvalidArgument for bytes that are no
/// features.
StatusOr<Features> stored_features(std::string_view bytes, FeatureSet set = FeatureSet::kCpu);

}  // namespace hone
