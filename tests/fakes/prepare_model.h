// A model's file as it is built, for tests.
#pragma once

#include <string>
#include <utility>

#include "compiler/frontend/onnx/import.h"
#include "compiler/model/prepare.h"

namespace hone {

inline ImportedModel prepare_model(const std::string& path, const PassContext& context, const Target& target,
                                   const ImportOptions& options = {}, const PassHooks<Graph>& hooks = {}) {
  ImportedModel model = import_onnx(path, context.operators, options);
  model.graph = prepare_graph(std::move(model.graph), context, target, hooks);
  return model;
}

}  // namespace hone
