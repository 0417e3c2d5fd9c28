// The fastest of one noisy measurement each is not the fastest: the finalists are measured again side by side, with the
// default.
#pragma once

#include <cstdint>
#include <functional>

#include "tuner/session/desk.h"
#include "tuner/session/worker.h"

namespace hone {

/// The tasks whose finalists are confirmed.
enum class Finalists : uint8_t {
  kNew,        ///< of those with a finalist that has no confirmation in quiet, nor any of this session
  kDisturbed,  ///< of those with a finalist that was confirmed, but never in quiet
};

/// Confirms the finalists of every such task, one job a task. What cannot be had in time stays as it was, with a
/// warning: in a hurry (the user interrupted) all of it takes two seconds at most. `show` is called while waiting.
Status confirm_finalists(Finalists which, std::vector<TaskRun>& tasks, const SessionServices& services,
                         const SessionOptions& options, JobDesk& desk, SearchWorker& worker,
                         const std::function<void()>& show);

}  // namespace hone
