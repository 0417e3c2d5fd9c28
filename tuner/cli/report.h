// How an outcome is shown.
#pragma once

#include <string>

#include "compiler/ops/workload.h"
#include "compiler/schedule/space.h"
#include "tuner/session.h"

namespace hone {

struct ReportContext {
  const Workload& workload;
  const std::string& target;  ///< canonical
  const Space& space;
  std::string db;             ///< path
  std::string next_command;   ///< what to try now
};

/// A few lines for people.
std::string text_report(const SessionOutcome& outcome, const ReportContext& context);
/// One line: the JSON object of `tuner --json`.
std::string json_report(const SessionOutcome& outcome, const ReportContext& context);

}  // namespace hone
