// Maps the knobs of an AutoTVM record to ours.
//
// Templates differ, but a fast kernel's register tile does not depend on the generator: how many vectors of output
// channels, how many columns and rows are accumulated at once, how the reduction is blocked and unrolled. Blocks of
// vectors are counted in vectors, not in elements, so that a record of a board with four lanes fits a server with
// sixteen. Knobs that depend on the machine more than on the kernel (tasks, partition, where padding goes) stay at our
// default.
#pragma once

#include <optional>
#include <vector>

#include "compiler/target/target.h"
#include "db/rows.h"
#include "tuner/transfer/nearest_config.h"

namespace hone {

/// f32 lanes of a vector on AutoTVM's target text, as far as it says: NEON 4, AVX-512 16, other x86 8.
int64_t foreign_lanes(const std::string& target);

/// The wished-for choices of `record` for a space on `target`; empty when the record lacks all knobs of its template.
std::vector<Wish> foreign_wishes(const db::ForeignRow& record, const Target& target);

/// The nearest valid config of `space`, which is of the record's task; nothing when there is none.
std::optional<Config> foreign_config(const db::ForeignRow& record, const Target& target, const Space& space);

}  // namespace hone
