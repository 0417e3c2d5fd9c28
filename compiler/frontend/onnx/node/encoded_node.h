// Nodes on tensors of types that models store and nothing computes with (frontend/lowering/encoding.h).
#pragma once

#include <functional>

#include "compiler/frontend/onnx/node/node.h"

namespace hone::onnx {

/// As the node's attributes `saturate` and `round_mode` have it.
Rounding rounding_of(const NodeContext& c);

/// Whether some input is encoded, and the node's own row does not handle encodings.
bool wants_run_encoded(const NodeContext& c);
/// Runs a node that moves elements without reading them: `run` gets the inputs as plain bytes, and the outputs have the
/// inputs' encoding. UserError for a node that computes with an encoded input, and for two encodings.
void run_encoded(NodeContext& c, const std::function<void(NodeContext&)>& run);

}  // namespace hone::onnx
