// What the GPU templates share beyond common.h: how activations lie in memory.
#pragma once

#include <string_view>

#include "compiler/ops/definition.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/workload.h"
#include "compiler/target/occupancy.h"

namespace hone {

/// Whether the columns of a channel lie together: NCHW, and NCHWc, which leaves the blocks to the config: here it has
/// none. Elsewhere (NHWC, NCHW16c) channels do.
bool is_planar(const LayoutChoice& choice);

/// Channels that lie together in the input, at most `channels`.
int64_t neighbouring_channels(int64_t block, int64_t channels);

/// Requires that blocks which take as much as `block` can be launched, and that a multiprocessor has room for enough of
/// them.
void require_room(Knobs& knobs, const Target& target, const BlockNeeds& block);

/// Gives `data`, the output and what is shaped like it the layout that the workload asks for.
void lay_out_activations(Schedule& s, const Workload& w, const Definition& d);

}  // namespace hone
