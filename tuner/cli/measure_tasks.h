// One session over tasks, as a command's flags ask for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "db/store.h"
#include "tuner/cli/place.h"
#include "tuner/cli/tasks_file.h"
#include "tuner/cli/tune.h"
#include "tuner/measure/host_cores.h"
#include "tuner/session.h"
#include "tuner/tuning_task.h"

namespace hone {

/// What the sessions of a command share; all outlive them.
struct TaskServices {
  const TunerFlags& flags;
  const TunerIo& io;
  const Place& place;
  db::Store& store;
  HostCores& cores;
  const Clock& clock;
  const std::string& prior;  ///< the cost model to begin with; empty: none
};

struct MeasuredTasks {
  std::vector<std::unique_ptr<TuningTask>> tasks;  ///< in the order given
  std::string session;                             ///< its identity in the database
  StatusOr<TasksOutcome> outcome;
  bool is_database_lost = false;  ///< `outcome` says where the trials are
};

/// `tasks`: how many trials are shared by; `model`: the layers of --model, whose constants go round as they do in it.
SessionOptions session_options(const TunerFlags& f, size_t devices, size_t tasks,
                               const std::vector<WeightedWorkload>& model);

/// Whether the searcher gets a prior and seeds. Searchers without a model are baselines: they get neither.
bool begins_warm(const TunerFlags& f);

/// Errors are those of preparing the tasks and of reaching the devices; `outcome` has the session's own.
StatusOr<MeasuredTasks> measure_tasks(const std::vector<WeightedWorkload>& workloads, const SessionOptions& options,
                                      const TaskServices& services);

}  // namespace hone
