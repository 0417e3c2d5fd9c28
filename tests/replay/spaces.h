// The recorded spaces: which workloads, and which part of each template's space.
#pragma once

#include <string>
#include <vector>

#include "compiler/ops/workload.h"
#include "compiler/schedule/space.h"

namespace hone::replay {

struct ReplaySpace {
  std::string name;  ///< also the recording's file: NAME.json.zst
  Workload workload;
  Narrowing narrowing;    ///< leaves at most 5,000 valid configs
  bool held_out = false;  ///< judged on only: no constant of the search is chosen by it
};

const std::vector<ReplaySpace>& replay_spaces();

}  // namespace hone::replay
