#include "compiler/frontend/lowering/imported_model.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "compiler/graph/batch/batch.h"

namespace hone {

ImportedModel for_images(ImportedModel model, const std::string& path, const OperatorTable& operators, int64_t batch) {
  if (batch == 1) return model;
  try {
    BatchedGraph made = batched(model.graph, batch, operators);
    made.notes.insert(made.notes.begin(), model.notes.begin(), model.notes.end());
    return {std::move(made.graph), std::move(made.notes), std::move(model.metadata)};
  } catch (const UserError& e) {
    throw UserError(fmt::format("{}: --model-batch {}: {}", path, batch, e.what()));
  }
}

}  // namespace hone
