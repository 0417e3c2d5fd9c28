#include "tuner/driver/missed.h"

#include "base/check.h"
#include "compiler/build/build.h"
#include "compiler/ops/extremes.h"
#include "db/team/team_json.h"

namespace hone {

StatusOr<Missed> missed_workloads(const OperatorTable& operators, const Target& target, db::RemoteHub& hub) {
  HONE_ASSIGN_OR_RETURN(const std::vector<db::TeamMiss> misses, hub.misses(target.kind, db::kMostTeamMisses));
  const std::string own = to_string(target);
  Missed out;
  for (const db::TeamMiss& miss : misses) {
    if (miss.key.target != own) {
      ++out.other_targets;
      continue;
    }
    try {
      Workload w = without_extremes(Workload::parse(operators, miss.key.workload));
      (void)make_space(w, target);
      if (out.workloads.size() == kMostMissed)
        ++out.later;
      else
        out.workloads.push_back({std::move(w), static_cast<double>(miss.count)});
    } catch (const UserError&) {
      ++out.unknown;
    }
  }
  return out;
}

}  // namespace hone
