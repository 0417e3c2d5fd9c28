// An operator that is to be built: where, and with which config.
#pragma once

#include "base/status.h"
#include "compiler/build/choose_config.h"
#include "compiler/driver/build_place.h"

namespace hone {

struct PreparedOperator {
  Workload workload;
  BuildPlace place;
  Space space;
  ChosenConfig chosen;
};

/// Parses the operator, finds its place, and chooses the config: request.config, else the best that is known. Notes
/// which one, and the rows passed over. Usage errors, UserError of the operator and the config; Unavailable where it is
/// to run and cannot; errors of the database and the fleet.
StatusOr<PreparedOperator> prepare_operator(const OperatorTable& operators, const BuildRequest& request,
                                            const Events& events);

}  // namespace hone
