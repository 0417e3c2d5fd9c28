// tensorc of an operator: its text or artifact, its time, its check, and why it is as fast as it is.
#pragma once

#include "compiler/cli/tensorc.h"

namespace hone {

/// The part of run_tensorc() for options without a model.
Status run_tensorc_operator(const OperatorTable& operators, const TensorcOptions& options, std::ostream& out,
                            std::ostream& err);

}  // namespace hone
