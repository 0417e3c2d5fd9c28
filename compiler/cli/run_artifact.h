// A model's artifact that exists, run here: `tensorc run m.so --inputs FOLDER --bench --profile`.
#pragma once

#include <ostream>

#include "base/status.h"
#include "compiler/cli/tensorc.h"
#include "compiler/ops/operator.h"

namespace hone {

/// Does --inputs, --bench and --profile with the artifact o.artifact as with a model that was just built: for each of
/// its variants, or with --inputs for those that take them, on the threads of the build, as far as there are. With none
/// of the three it runs once and the outputs are named. Its weights: o.weights, or beside it.
Status run_artifact(const OperatorTable& operators, const TensorcOptions& o, std::ostream& out, std::ostream& err);

}  // namespace hone
