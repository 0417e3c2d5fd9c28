// What a computation's outputs are compared with, as a job for the agents.
#pragma once

#include "compiler/ops/definition.h"
#include "compiler/target/target.h"
#include "tuner/measure/remote.h"

namespace hone {

/// The reference of `d` for candidates on `target`, on inputs and samples that are the same for every session.
/// `timeout_s` is that of a candidate; references get a minute at least.
ReferenceJob reference_job(const Definition& d, const Target& target, double timeout_s);

}  // namespace hone
