// One session over tasks, as a command's flags ask for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tuner/driver/tasks_file.h"
#include "tuner/driver/tune_services.h"
#include "tuner/session/session.h"
#include "tuner/session/tuning_task.h"

namespace hone {

struct MeasuredTasks {
  std::vector<std::unique_ptr<TuningTask>> tasks;  ///< in the order given
  std::string session;                             ///< its identity in the database
  StatusOr<TasksOutcome> outcome;
  bool is_database_lost = false;  ///< `outcome` says where the trials are
};

/// `tasks`: how many trials are shared by; `model`: the layers of --model, whose constants go round as they do in it.
SessionOptions session_options(const TuneRequest& f, size_t devices, size_t tasks,
                               const std::vector<WeightedWorkload>& model);

/// Whether the searcher gets a prior and seeds. Searchers without a model are baselines: they get neither.
bool begins_warm(const TuneRequest& f);

/// Errors are those of preparing the tasks and of reaching the devices; `outcome` has the session's own.
StatusOr<MeasuredTasks> measure_tasks(const std::vector<WeightedWorkload>& workloads, const SessionOptions& options,
                                      const TuneServices& services);

}  // namespace hone
