// Sequences and optionals of models: lists of operands, known while the model is read. A graph has none.
#pragma once

#include <string>
#include <vector>

#include "compiler/frontend/onnx/lowering.h"

namespace hone::onnx {

struct BodyNode;

constexpr int64_t kMostOfSequence = 1 << 16;  // elements

/// A sequence of these. UserError where it, or all sequences of the model together, have too many elements.
Operand of_elements(Lowering& l, Sequence elements);
/// What the operand is, for an error: "a sequence".
std::string described(const Operand& x);
/// UserError where the node, which takes tensors alone, reads a sequence or an optional that holds nothing.
void check_sequences(const NodeContext& c);
/// SequenceMap: its body for each element of its sequences; tensors are the same for all.
void map_sequence(const BodyNode& n);

}  // namespace hone::onnx
