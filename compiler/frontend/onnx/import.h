// ONNX models as graphs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace hone {

struct OnnxOptions {
  /// Numbers for named dimensions of the inputs (`batch`), and values for inputs of whole numbers (`sr`), of which all
  /// elements are the same then (a mask of ones).
  std::map<std::string, int64_t> bind = {};
  /// Named dimensions that are sums of others and numbers: `total` is `past+1`. A dimension whose name is such a sum
  /// need not be here.
  std::map<std::string, std::string> sums = {};
  /// Shapes of inputs, by their names.
  std::map<std::string, std::vector<int64_t>> shapes = {};
  /// Inputs whose elements are known, by their names: they become constants, and are no inputs of the graph. Their
  /// shapes say what `shapes` would.
  std::map<std::string, TensorData> values = {};
  /// A model for one image becomes one for so many (graph/batch/batch.h), 1 to kMostImages.
  int64_t batch = 1;
  /// How many operations computing constants may take: see GraphBuilder.
  double most_work = 1 << 30;
};

struct OnnxModel {
  Graph graph;
  std::vector<std::string> notes;  ///< what was assumed, one line each: `batch = 1`
};

/// Names of the model's inputs, in order. UserError as import_onnx().
std::vector<std::string> onnx_input_names(const std::string& path);

/// Reads the model at `path`: opset 6 to 25, with external data below its folder. All shapes are numbers afterwards,
/// and what depends on them and on constants alone is computed. UserError: one line for a file that is no valid model
/// (cyclic, truncated, wrong or missing data, huge dims); for dimensions that are not bound the options to give; for
/// nodes that are not supported all of them at once, a line for each kind; as batched() for a batch.
OnnxModel import_onnx(const std::string& path, const OperatorTable& operators, const OnnxOptions& options = {});

}  // namespace hone
