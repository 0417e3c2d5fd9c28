// Answers of a model in words: which label has the best score.
#pragma once

#include <string>
#include <vector>

#include "compiler/frontend/lowering/model_metadata.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/tensor_data.h"

namespace hone {

/// `output scores: best is tabby (0.83), place 282`, a line for each output that has one score for each of its labels;
/// it says so where the best is below the least score that counts. `outputs`: the elements of `g`'s outputs.
std::vector<std::string> best_labels(const Graph& g, const std::vector<TensorData>& outputs,
                                     const ModelMetadata& metadata);

}  // namespace hone
