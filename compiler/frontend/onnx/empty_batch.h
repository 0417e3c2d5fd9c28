// Nodes over batches of no images.
#pragma once

#include "compiler/frontend/onnx/node/node.h"

namespace hone::onnx {

/// Whether the node is one over a batch, which has nothing in it.
bool is_over_nothing(const NodeContext& c);
/// The outputs of such a node: as `row` has them for one image, and without it.
void run_over_nothing(NodeContext& c, Converter convert);

}  // namespace hone::onnx
