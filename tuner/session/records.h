// Results as the tophub stores them.
#pragma once

#include <string>
#include <string_view>

#include "db/rows.h"
#include "tuner/session/session.h"

namespace hone {

/// The trial of candidate `index` of a job, measured or (`confirmed`) measured again.
db::TrialRow trial_row(const TaskSetup& task, const SessionServices& services, const Candidate& candidate,
                       const wire::JobResult& job, size_t index, const wire::MeasureProfile& profile, bool confirmed);

/// The trial of a candidate that could not even be lowered.
db::TrialRow unlowered_row(const TaskSetup& task, const SessionServices& services, const Candidate& candidate,
                           uint64_t seq);

/// `warmup 1, 3 x 2 ms, near the best 10 x 5 ms`: how a trial was timed.
std::string describe(const wire::MeasureProfile& profile);

}  // namespace hone
