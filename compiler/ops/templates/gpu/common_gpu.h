// Parts that the GPU templates share beyond common.h: how activations lie in memory.
#pragma once

#include <string_view>

#include "compiler/ops/definition.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/workload.h"
#include "compiler/target/occupancy.h"

namespace hone {

/// Whether the columns of a channel are contiguous in memory: in NCHW, and in NCHWc, where the config chooses the
/// blocks and GPU configs have none. In the other layouts (NHWC, NCHW16c) channels are contiguous.
bool is_planar(const LayoutChoice& choice);

/// How many channels are contiguous in the input, at most `channels`.
int64_t neighbouring_channels(int64_t block, int64_t channels);

/// Requires that a block with the needs `block` can be launched, and that a multiprocessor has room for enough of them.
void require_room(Knobs& knobs, const Target& target, const BlockNeeds& block);

/// Gives `data`, the output and the inputs of the output's shape the layout that the workload asks for.
void lay_out_activations(Schedule& s, const Workload& w, const Definition& d);

}  // namespace hone
