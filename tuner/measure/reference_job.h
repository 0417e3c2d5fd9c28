// The reference of a computation, as a job for the agents.
#pragma once

#include "compiler/ops/definition.h"
#include "compiler/target/target.h"
#include "tuner/measure/remote.h"

namespace hone {

/// The reference of `d` for candidates on `target`, with the same inputs and samples in every session. `timeout_s` is a
/// candidate's; references get at least a minute.
ReferenceJob reference_job(const Definition& d, const Target& target, double timeout_s);

}  // namespace hone
