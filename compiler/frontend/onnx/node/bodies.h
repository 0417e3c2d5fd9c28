// Operators that hold graphs: If, Loop, Scan and SequenceMap.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/frontend/onnx/node/node.h"

namespace hone::onnx {

/// A node that holds graphs, and the importer around it.
struct BodyNode {
  NodeContext& c;
  /// The outputs of one of its graphs for these inputs; it sees the values around the node. UserError where it has
  /// nodes that are not supported, which are in `unsupported` then.
  std::function<std::vector<Operand>(const Graph& body, const std::vector<Operand>& inputs)> run;
  std::map<std::string, std::vector<std::string>>& unsupported;  ///< names of nodes by their unsupported feature
  std::vector<std::string>& notes;                               ///< of ImportedModel
};

using BodyConverter = void (*)(const BodyNode& n);
/// By operator, of ONNX's own.
const std::unordered_map<std::string_view, BodyConverter>& body_converters();

}  // namespace hone::onnx
