// How an outcome is shown.
#pragma once

#include <string>
#include <vector>

#include "compiler/ops/workload.h"
#include "compiler/schedule/space.h"
#include "tuner/session/session.h"

namespace hone {

struct ReportContext {
  const Workload& workload;
  const std::string& target;  ///< canonical
  const Space& space;
  std::string db;            ///< path
  std::string next_command;  ///< the command to try next
};

/// A few lines for people.
std::string text_report(const SessionOutcome& outcome, const ReportContext& context);
/// One line: the JSON object of `tuner --json`.
std::string json_report(const SessionOutcome& outcome, const ReportContext& context);

/// One of several tasks.
struct ReportedTask {
  const Workload& workload;
  std::string label;  ///< short
  double weight = 1;
  const Space& space;
};

/// The same of several tasks: a line for each, the heaviest first, one for all that were not tried, and the weighted
/// total.
std::string text_report(const TasksOutcome& outcome, const std::vector<ReportedTask>& tasks, const std::string& target,
                        const std::string& db);
/// `{"target","tasks":[…as of one task, with "weight"…],"total":{"time_ms","default_time_ms"},"trials","by_status",…}`;
/// null where a task has no time.
std::string json_report(const TasksOutcome& outcome, const std::vector<ReportedTask>& tasks, const std::string& target,
                        const std::string& db);

}  // namespace hone
