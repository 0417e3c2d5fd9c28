// The result of reading a model of any format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/frontend/lowering/model_metadata.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/growth.h"

namespace hone {

struct ImportedModel {
  Graph graph;
  std::vector<std::string> notes;  ///< assumptions, one line each: `batch = 1`
  ModelMetadata metadata = {};
};

/// A model for each number of rows of its caches up to the most.
struct GrowingModel {
  std::string path;     ///< of its file
  ImportedModel model;  ///< for the most; its last input is the number of rows
  Growth growth;
  Graph shorter;  ///< the same for one row less, for check_growth()
  Growth shorter_growth;
};

/// The model, which is for one image, for `batch` of them; as it is for 1. UserError as batched(), which begins with
/// the path of its file and the option.
ImportedModel for_images(ImportedModel model, const std::string& path, const OperatorTable& operators, int64_t batch);

}  // namespace hone
