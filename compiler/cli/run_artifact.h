// A model's artifact that exists, run here: `tensorc run m.so --inputs FOLDER --bench --profile`.
#pragma once

#include <ostream>

#include "base/status.h"
#include "compiler/cli/tensorc.h"
#include "compiler/ops/operator.h"

namespace hone {

/// What --inputs, --bench and --profile ask of the artifact o.artifact, as of a model that was just built: of several
/// variants each, or with --inputs those that take them, on the threads that it was built for, as far as there are.
/// With none of the three it is run once, and what comes out is named. Its weights: o.weights, or beside it.
Status run_artifact(const OperatorTable& operators, const TensorcOptions& o, std::ostream& out, std::ostream& err);

}  // namespace hone
