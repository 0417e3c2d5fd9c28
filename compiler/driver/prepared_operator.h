// An operator that is to be built: where, and with which config.
#pragma once

#include <memory>

#include "base/status.h"
#include "compiler/driver/lock/build_configs.h"
#include "compiler/driver/place/build_place.h"

namespace hone {

struct PreparedOperator {
  Workload workload;
  BuildPlace place;
  std::unique_ptr<BuildConfigs> configs;
  Space space;
  ChosenConfig chosen;
};

/// Parses the operator, finds its place, and chooses the config, as BuildConfigs does: `request` outlives it. Notes
/// which one, and the rows passed over. Usage errors, UserError of the operator and the config; Unavailable where it is
/// to run and cannot; errors of the database and the fleet.
StatusOr<PreparedOperator> prepare_operator(const OperatorTable& operators, const BuildRequest& request,
                                            const Events& events);

}  // namespace hone
