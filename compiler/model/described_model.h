// A model's artifact as it describes itself: reads the text of describe_model() again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/frontend/lowering/model_metadata.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/growth.h"

namespace hone {

struct DescribedVariant {
  std::string name;  ///< empty where there is one variant
  /// The inputs and outputs, and no nodes. As in the graph that was built, the last input of one whose caches grow is
  /// the number of rows, which no caller passes.
  Graph ports;
  std::optional<Growth> growth;
};

/// The variants in an artifact's `json`, in the artifact's order. UserError when it is not a model's; the message
/// continues the artifact's name.
std::vector<DescribedVariant> described_variants(const std::string& json);
/// The notes of the model's file; nothing where the artifact has none. UserError as above.
ModelMetadata described_metadata(const std::string& json);

}  // namespace hone
