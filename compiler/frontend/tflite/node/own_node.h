// Custom operators that the model's user defines: their options as attributes.
#pragma once

#include "base/json.h"
#include "compiler/frontend/tflite/node/node.h"

namespace hone::tflite {

/// The members of an operator's options: numbers, texts, and lists of these. None where there are no options, or such
/// as are no map of flexbuffers: their bytes are the operator's own affair. UserError for members of other kinds.
Json attributes_of(const NodeContext& c);

}  // namespace hone::tflite
