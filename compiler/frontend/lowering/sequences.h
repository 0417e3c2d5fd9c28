// Sequences and optionals of models: lists of operands, known while the model is read. A graph has none.
#pragma once

#include <string>

#include "compiler/frontend/lowering/lowering.h"

namespace hone::frontend {

constexpr int64_t kMostOfSequence = 1 << 16;  // elements

/// A sequence of these. UserError where it, or all sequences of the model together, have too many elements.
Operand of_elements(Lowering& l, Sequence elements);
/// The operand's kind, in words for an error: "a sequence".
std::string described(const Operand& x);
}  // namespace hone::frontend
