// Confirmation. The fastest of many noisy measurements is not the fastest candidate: the finalists are measured again
// side by side, together with the default.
#pragma once

#include <cstdint>
#include <functional>

#include "tuner/session/session_jobs.h"
#include "tuner/session/worker.h"

namespace hone {

/// The tasks whose finalists are confirmed.
enum class Finalists : uint8_t {
  kNew,        ///< those with a finalist that has neither a quiet confirmation nor one of this session
  kDisturbed,  ///< those with a finalist that was confirmed, but never in quiet
};

/// Confirms the finalists of every such task, one job a task. Tasks that do not finish in time stay unconfirmed, with a
/// warning: in a hurry (the user interrupted) everything takes two seconds at most. `seconds`: or so many, without one;
/// 0: as long as devices send results. `show` is called while waiting.
Status confirm_finalists(Finalists which, double seconds, std::vector<TaskRun>& tasks, const SessionServices& services,
                         const SessionOptions& options, SessionJobs& session_jobs, SearchWorker& worker,
                         const std::function<void()>& show);

}  // namespace hone
