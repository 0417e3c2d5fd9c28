// Models for GPUs in tests: built with default configs, loaded, run on a device.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/evaluate.h"
#include "compiler/model/build_model.h"
#include "compiler/model/model_data.h"
#include "compiler/model/prepare.h"
#include "compiler/model/run_model.h"
#include "tests/unit/graph/read_graph.h"

namespace hone {

inline ChosenConfig default_config(const Workload&, const Target&, const Space& space) {
  return {space.default_config(), "default", ""};
}

inline BuiltModel built_for(const Graph& g, const Target& target, const std::string& name = "m",
                            const ChooseConfig& choose = &default_config) {
  ModelOptions options{name, target, choose};
  options.host = host_target(1);
  return build_model(g, options);
}

/// The second outputs on `device` of the artifact of `g`, made by all passes for `target`.
inline std::vector<TensorData> run_on_gpu(const Graph& g, const Target& target, Device& device,
                                          const std::vector<TensorData>& inputs) {
  const Graph made = prepare_graph(g, test_context(), target);
  static int number = 0;  // a name of its own for each, as all stay loaded
  const std::string name = "m" + std::to_string(number++);
  LoadedModel model(built_for(made, target, name), name, 1, 0, &device);
  model.run(inputs);
  return model.run(inputs);
}

}  // namespace hone
