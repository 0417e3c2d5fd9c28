// From a model's file to the graph that is built and tuned.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/frontend/onnx/import_growing.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/model/input_format.h"
#include "compiler/target/target.h"

namespace hone {

/// `NAME=N` or `NAME=OTHER+N` as --bind and `INPUT=1x3x224x224` as --shape have them. UserError, one line, for others.
OnnxOptions onnx_options(const std::vector<std::string>& bind, const std::vector<std::string>& shapes);

/// `NAME=FILE` as --bind-data has them: what OnnxOptions::values wants. The name ends at the first `=`. UserError, one
/// line, for other texts, a name that is given twice, and as read_tensor_file() for files (of 1 GiB at the most).
std::map<std::string, TensorData> bound_data(const std::vector<std::string>& texts);

/// The passes over a model's graph for a target, which says the lanes.
std::vector<Pass<Graph>> model_passes(const PassContext& context, const Target& target);

/// Runs them over an imported graph. Every graph is verified, the imported one too. `hooks` watch the passes, with the
/// imported graph as the result of a first one called `import`, or leave some out.
Graph prepare_graph(Graph imported, const PassContext& context, const Target& target,
                    const PassHooks<Graph>& hooks = {});

/// The same of the model at `path` with inputs of these formats, for tensorc and tuner alike. `rewrite`, if there is
/// one, makes the graph of the passes of the imported one. UserError as import_onnx() and with_input_formats().
OnnxModel prepare_model(const std::string& path, const PassContext& context, const Target& target,
                        const OnnxOptions& options, const PassHooks<Graph>& hooks = {},
                        const std::vector<InputFormat>& formats = {},
                        const std::function<Graph(const Graph&)>& rewrite = {});

/// `NAME=N` as --cache has it. UserError, one line, for other texts.
CacheOption cache_option(const std::string& text);

/// Both of its graphs with inputs of these formats.
GrowingModel with_input_formats(GrowingModel m, const std::vector<InputFormat>& formats,
                                const OperatorTable& operators);

/// prepare_graph() of a decoder whose caches grow in place; they stay what `imported.growth` says. What was measured
/// does not change its graph. UserError as check_growth() for a model that uses them otherwise than attention.
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
