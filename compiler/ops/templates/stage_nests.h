// A nest for each stage of a definition, none of them inlined: for stages that read elements as they were stored.
#pragma once

#include <memory>

#include "compiler/ops/definition.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/space.h"
#include "compiler/target/target.h"

namespace hone {

/// Whether a stage reads elements as they were stored: a scan, which reads its own, or one that compares bits
/// (TensorNode::compares_bits) of a stage that would be inlined. The other generic templates do not take these.
bool reads_stored_elements(const Definition& d);

/// Declare, check or apply like a TemplateFunction, from the definition alone. Threads share all axes but those of
/// scans and reductions; on CPUs vectors run along the last axis where that is one of them.
void stage_nests_cpu(const Definition& d, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);
void stage_nests_gpu(const Definition& d, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule);

}  // namespace hone
