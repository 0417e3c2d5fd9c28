// The fastest of one noisy measurement each is not the fastest: the finalists are measured again side by side, with the default.
#pragma once

#include <functional>

#include "tuner/session/desk.h"
#include "tuner/session/worker.h"

namespace hone {

/// Confirms the finalists of every task that has new ones, one job a task. What cannot be had in time stays provisional, with a warning:
/// in a hurry (the user interrupted) all of it takes two seconds at most. `show` is called while waiting.
Status confirm_finalists(std::vector<TaskRun>& tasks, const SessionServices& services, const SessionOptions& options, JobDesk& desk, SearchWorker& worker,
                         const std::function<void()>& show);

}  // namespace hone
