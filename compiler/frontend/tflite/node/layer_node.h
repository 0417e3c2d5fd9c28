// Layers of floats that have states.
#pragma once

#include <string>

#include "compiler/frontend/tflite/node/node.h"

namespace hone::tflite {

/// A fused activation as a chain. UserError for one that is not supported.
std::string chain_of(int8_t function);

/// UserError unless the layer's input is of floats.
void require_floats(const NodeContext& c);

/// x [steps, batch, k] from what a file has first, batches or steps; and back. UserError for another rank.
Operand by_steps(Lowering& l, const Operand& x, bool is_time_major);
Operand as_file(Lowering& l, const Operand& y, bool is_time_major);

/// Input `i`, a state of this shape, in front of a step, and what it becomes: of the model, or given by the caller, who
/// is told nothing.
Operand layer_state(NodeContext& c, size_t i, const Extents& shape);
void set_layer_state(NodeContext& c, size_t i, const Operand& value);

}  // namespace hone::tflite
