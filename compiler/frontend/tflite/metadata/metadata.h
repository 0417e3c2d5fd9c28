// The notes of a model's file: what its author says of inputs and outputs, and files behind the model.
#pragma once

#include <string>
#include <vector>

#include "compiler/frontend/lowering/model_metadata.h"
#include "compiler/frontend/tflite/file/model_file.h"
#include "compiler/graph/graph.h"

namespace hone::tflite {

/// The file's notes on its model; nothing where it has none. `inputs` and `outputs`: callers' names of the main
/// subgraph's, in the file's order; `graph`, which was read from it, has their shapes. Never throws for what a file
/// has: notes are no reason to refuse a model, so what is damaged, too large or contradicts the model is left out, and
/// said (ModelMetadata::left_out).
ModelMetadata metadata_of(const ModelFile& file, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs, const Graph& graph);

}  // namespace hone::tflite
