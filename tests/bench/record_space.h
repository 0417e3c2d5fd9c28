// Records a space on this machine: every config measured by a real session in random order, doubtful and fast ones
// again.
#pragma once

#include "tests/replay/recording.h"
#include "tests/replay/spaces.h"

namespace hone::replay {

/// Measures configs that `db` does not have yet, in sessions that resume, and makes the recording. `seconds`: stop
/// measuring after so long (0: never); the error then says how far it is.
StatusOr<Recording> record_space(const ReplaySpace& space, const std::string& db, double seconds);

/// Computes the features of a recording again, for the schema of today. An error when the template is no longer the one
/// recorded.
Status refresh_features(const ReplaySpace& space, Recording* recording);

}  // namespace hone::replay
