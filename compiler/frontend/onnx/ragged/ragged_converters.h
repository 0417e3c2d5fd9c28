// Nodes on ragged tensors (frontend/lowering/ragged.h).
#pragma once

#include "compiler/frontend/onnx/node/node.h"

namespace hone::onnx {

/// Whether a call finds out an input's extent, or numbers that it is made of.
bool is_ragged(const NodeContext& c);
/// `row` for such inputs. UserError where nothing is known of how the operator treats them.
void run_ragged(NodeContext& c, Converter convert);

}  // namespace hone::onnx
