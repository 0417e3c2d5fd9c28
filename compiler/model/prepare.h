// From a model's file to the graph that is built and tuned.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/frontend/lowering/imported_model.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/model/input_format.h"
#include "compiler/target/target.h"

namespace hone {

/// The passes over a model's graph for a target, which says the lanes.
std::vector<Pass<Graph>> model_passes(const PassContext& context, const Target& target);

/// Runs them over an imported graph. Every graph is verified, the imported one too. `hooks` watch the passes, with the
/// imported graph as the result of a first one called `import`, or leave some out.
Graph prepare_graph(Graph imported, const PassContext& context, const Target& target,
                    const PassHooks<Graph>& hooks = {});

/// Both of its graphs with inputs of these formats.
GrowingModel with_input_formats(GrowingModel m, const std::vector<InputFormat>& formats,
                                const OperatorTable& operators);

/// prepare_graph() of a decoder whose caches grow in place; they stay those of `imported.growth`. Measured times do not
/// change its graph. UserError as check_growth() for a model that uses them otherwise than attention.
/// No lower level than OptLevel::kFuse has attention: UserError, too.
Graph prepare_growing(GrowingModel imported, const PassContext& context, const Target& target,
                      const PassHooks<Graph>& hooks = {});

/// Lets equal constants of the graphs, which are of one model's bindings, share their elements.
void share_constants(const std::vector<Graph*>& graphs);

/// A workload of a model, and how often it runs: nodes, or steps of these.
struct ModelTask {
  Workload workload;
  int64_t count = 0;
  int64_t nodes = 0;  ///< that hold its constants: fewer than `count` where steps read the same ones again
};
/// The workloads of a graph behind all passes, each once, in the order in which they occur; views are none. `growth`:
/// of a graph whose caches grow in place; null for others.
std::vector<ModelTask> model_tasks(const Graph& g, const Growth* growth = nullptr);

}  // namespace hone
