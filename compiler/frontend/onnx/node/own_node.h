// Nodes that are operators of the model's user: ONNX's attributes as these get them, and the types that a file
// declares.
#pragma once

#include <string>

#include "base/json.h"
#include "compiler/frontend/onnx/node/node.h"
#include "compiler/users/user_operators.h"

namespace hone::onnx {

/// `my.domain::RotaryPair`; of ONNX's own operators `ai.onnx::Softmax`, whose domain a file leaves out.
std::string full_name_of(const Node& node);

/// The node's attributes; inside of a function also those that refer to it. UserError for tensors and graphs.
Json attributes_of(const NodeContext& c);
/// Adds a function's attributes that a call of it leaves out and that have a default.
void add_defaults(const Function& f, Json* attributes);

/// UserError where a value of this type is declared with another element type, or another number of axes; with
/// `checks_extents` also other extents.
void check_declared(const ValueInfo& declared, const TensorType& type, bool checks_extents);

}  // namespace hone::onnx
