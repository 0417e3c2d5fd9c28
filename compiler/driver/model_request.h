// What is asked of a model, parsed: the one form that building and tuning go by.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/model_words.h"
#include "compiler/frontend/onnx/import_growing.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/model/bindings.h"
#include "compiler/model/input_format.h"
#include "compiler/target/target.h"

namespace hone {

struct ModelRequest {
  std::string path;                    ///< of the model's file
  std::vector<ModelBinding> bindings;  ///< at least one: a variant of each is built
  std::vector<InputFormat> formats;
  std::optional<CacheOption> cache;  ///< its caches grow in place
  bool sums_in_f16 = false;
};

/// UserError, one line that names the flag, for words that say nothing or too much. `thread_counts`: of how many
/// numbers of threads there are variants, too.
ModelRequest request_of(const ModelWords& words, size_t thread_counts = 1);

/// A model as it was read for one binding, in the formats of its inputs.
struct ReadModel {
  Graph graph;                                  ///< empty where there is `growing`
  std::shared_ptr<const GrowingModel> growing;  ///< null: no caches grow in place
  std::vector<std::string> notes;               ///< what was assumed
  const Growth* growth() const { return growing ? &growing->growth : nullptr; }
};

/// Rewrites a graph as it was read, before all passes.
using RewriteImported = std::function<Graph(const Graph&)>;

/// Reads the model's file. `quantize` may be empty; models whose caches grow have none. UserError as import_onnx().
ReadModel read_model(const ModelRequest& request, const ModelBinding& binding, const OperatorTable& operators,
                     const RewriteImported& quantize = {});

/// The graph that is built for a target, as prepare_graph() and prepare_growing().
Graph prepare(ReadModel model, const PassContext& context, const Target& target, const PassHooks<Graph>& hooks = {});

}  // namespace hone
