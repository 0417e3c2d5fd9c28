// A model's file as graphs: read, in the formats of its inputs, quantised.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "compiler/driver/quantize_model.h"
#include "compiler/driver/request/bindings.h"
#include "compiler/driver/request/events.h"
#include "compiler/driver/users.h"
#include "compiler/frontend/lowering/imported_model.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/target/target.h"

namespace hone {

/// A model as it was read for one binding.
struct ReadModel {
  Graph graph;                                  ///< empty where there is `growing`
  std::shared_ptr<const GrowingModel> growing;  ///< null: no caches grow in place
  ModelMetadata metadata;                       ///< of inputs as callers pass them
  const Growth* growth() const { return growing ? &growing->growth : nullptr; }
};

/// Reads the file of a request, for one binding after the other.
class ModelReader {
 public:
  /// All outlive it. UserError for a quantisation that is not asked for as ModelQuantizer wants it. `here`: this
  /// machine, on which samples run.
  ModelReader(const ModelRequest& request, const PassContext& context, const Target& here, const Events& events);

  /// UserError as import_model(), as normalized_by() for formats, and for replacements of nodes that there are not.
  /// Assumptions are noted, once, `assumed: batch = 1`, and so is what the file says of itself and is left out.
  ReadModel read(const ModelBinding& binding);

  /// The operators of the request's user; null: there are none.
  UserOperators* users() const { return users_.get(); }
  /// Null: nothing is quantised.
  ModelQuantizer* quantizer() { return quantizer_ ? &*quantizer_ : nullptr; }

 private:
  const ModelRequest& request_;
  const OperatorTable& operators_;
  const Events& events_;
  const std::shared_ptr<UserOperators> users_;
  std::optional<ModelQuantizer> quantizer_;
  std::set<std::string> told_;
};

/// The graph that is built for a target, as prepare_graph() and prepare_growing().
Graph prepare(ReadModel model, const PassContext& context, const Target& target, const PassHooks<Graph>& hooks = {});

}  // namespace hone
