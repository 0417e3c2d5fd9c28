// Operators that run other graphs of the file, and those on variables.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "compiler/frontend/tflite/node/node.h"
#include "compiler/frontend/tflite/node/states.h"

namespace hone::tflite {

/// A node, and the importer around it.
struct BodyNode {
  NodeContext& c;
  States& states;
  /// The outputs of a graph for these inputs. UserError for one that is running, that is the main one, or that takes
  /// other inputs, and where it has operators that are not supported.
  std::function<std::vector<Operand>(int64_t graph, const std::vector<Operand>& inputs)> run;
};

using BodyConverter = void (*)(const BodyNode& n);
/// By the operator's number.
const std::unordered_map<int32_t, BodyConverter>& body_converters();

}  // namespace hone::tflite
