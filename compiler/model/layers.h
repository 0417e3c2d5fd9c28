// Which kernels a model's nodes become. Equal nodes share one.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "base/check.h"
#include "compiler/build/choose_config.h"
#include "compiler/graph/graph.h"

namespace hone {

/// A function of the artifact.
struct Kernel {
  std::string symbol;
  Workload workload;
  Module module;                   ///< takes row-major tensors, but packed ones for the parameters of `is_packed`
  std::vector<bool> is_packed;     ///< by parameter: a constant that is packed when the model is built
  std::vector<int64_t> alignment;  ///< of each kernel argument, bytes
  std::string config, source;      ///< the config, and where it is from (ChosenConfig::source)
};

/// One node as a call.
struct Layer {
  int node = 0;
  size_t kernel = 0;
};

struct Layers {
  std::vector<Kernel> kernels;
  std::vector<Layer> calls;  ///< in the order of the nodes; views have none
};

/// Whether the node's output is its input under another shape: no code is needed.
bool is_view(const Node& n);

/// f(), whose internal errors say which workload they are about.
template <class F>
auto blaming(const Workload& w, const F& f) {
  try {
    return f();
  } catch (const InternalError& e) {
    throw InternalError(fmt::format("{} (in {})", e.what(), to_string(w)));
  }
}

/// Picks a config of a workload's space.
using ChooseConfig = std::function<ChosenConfig(const Workload& w, const Space& space)>;

/// `is_outside[v]`: value v lies in a tensor of the caller, which is aligned as its elements are.
Layers make_layers(const Graph& g, const Target& target, const std::string& name, const std::vector<bool>& is_outside,
                   const ChooseConfig& choose);

}  // namespace hone
