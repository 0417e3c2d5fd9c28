// The part of EmbedLayerNormalization that its quantised form (microsoft_quantized_rows.cc) shares.
#pragma once

#include <optional>

#include "compiler/frontend/onnx/node/node.h"

namespace hone::onnx {

/// The outputs of EmbedLayerNormalization from the sum of embeddings, [batch, tokens, hidden]: normalized; how many
/// tokens of each sequence the mask (input 7) keeps, those of 1; the sum itself.
void write_embeddings(NodeContext& c, const Operand& sum, const Operand& scale, const std::optional<Operand>& bias);

}  // namespace hone::onnx
