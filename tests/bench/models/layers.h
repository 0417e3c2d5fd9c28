// How long the layers of a model take, on one side of a comparison.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace hone::bench {

struct LayerTime {
  std::string name;  ///< its name on that side: the nodes of the user's model, or a node of ONNX Runtime's own graph
  std::string operation;  ///< `conv2d`, `FusedConv`
  double ms = 0;          ///< of one run
};

OrderedJson to_json(const std::vector<LayerTime>& layers);
/// Reverses to_json(). Throws Json::exception where `j` is something else.
std::vector<LayerTime> layers_of(const Json& j);

/// The layers of one operation.
struct OperationTime {
  std::string operation;
  int layers = 0;
  double ms = 0;  ///< their sum
};

/// The longest first.
std::vector<OperationTime> by_operation(const std::vector<LayerTime>& layers);

/// The time of each node in ONNX Runtime's profile of a session, in the order of their first runs: the mean over all
/// runs but the first. It counts whole microseconds, which is coarse for nodes that take less, and a node with a graph
/// of its own (Loop, If) contains the nodes of that. Usage errors of one line.
StatusOr<std::vector<LayerTime>> layers_of_profile(const std::string& json);

}  // namespace hone::bench
