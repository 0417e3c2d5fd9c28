// Nodes on sequences and optionals (frontend/lowering/sequences.h).
#pragma once

#include "compiler/frontend/lowering/sequences.h"
#include "compiler/frontend/onnx/node/node.h"

namespace hone::onnx {

struct BodyNode;

/// UserError where the node, which takes tensors alone, reads a sequence or an optional that holds nothing.
void check_sequences(const NodeContext& c);
/// SequenceMap: its body for each element of its sequences; tensors are the same for all.
void map_sequence(const BodyNode& n);

}  // namespace hone::onnx
