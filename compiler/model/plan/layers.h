// Which kernels a model's nodes become. Equal nodes share one.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "compiler/build/choose_config.h"
#include "compiler/codegen/llvm/artifact/model_entry.h"
#include "compiler/codegen/llvm/kernel/codegen_options.h"
#include "compiler/graph/graph.h"
#include "compiler/model/plan/storage.h"
#include "compiler/ops/host_function.h"

namespace hone {

/// A function of the artifact.
struct Kernel {
  std::string symbol;
  Workload workload;
  Module module;                   ///< takes row-major tensors, but packed ones for the parameters of `is_packed`
  std::vector<bool> is_packed;     ///< by parameter: a constant that is packed when the model is built
  std::vector<int64_t> alignment;  ///< of each kernel argument, bytes
  std::string config, source;      ///< the config, and where it is from (ChosenConfig::source)
  std::string held_back = {};      ///< as ChosenConfig::held_back
  std::optional<InPlace> in_place = std::nullopt;  ///< arguments that lie in one buffer in some of its layers
  /// A function in C in place of kernels: the module has none then, only parameters and a
  /// workspace.
  std::optional<HostFunction> host = std::nullopt;
  /// The module of one step, of the same config, when the workload is several steps; for checks.
  std::optional<Module> step = std::nullopt;
};

/// One node as a call.
struct Layer {
  int node = 0;
  size_t kernel = 0;
  /// The input, by number, whose memory its output takes; set when the memory is planned.
  std::optional<size_t> in_place = std::nullopt;
  bool is_divided = true;              ///< among the threads, where it runs by itself
  int region = 0;                      ///< as of its ModelStep
  std::vector<StepShare> shares = {};  ///< as of its ModelStep
};

struct Layers {
  std::vector<Kernel> kernels;
  std::vector<Layer> calls;  ///< in the order of the nodes; those that need no code have none
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

/// Picks a config of a workload's space on a target.
using ChooseConfig = std::function<ChosenConfig(const Workload& w, const Target& target, const Space& space)>;

/// Alignment, in bytes, of the arena's buffers and of the weights.
inline constexpr int64_t kArenaAlignment = 64;

class SharedPackings;

/// All that make_layers() looks up for the graph: its workloads, each once, that are not functions in C.
std::vector<db::TeamKey> lookup_keys(const Graph& g, const Target& target);

/// `alignments[v]`: bytes, of value v; weights are not asked for. Nodes that `storage` has for free are no layers.
/// `packings`: of the variants before, which configs follow; null: there are none.
Layers make_layers(const Graph& g, const Target& target, const std::string& name, const Storage& storage,
                   const std::vector<int64_t>& alignments, const ChooseConfig& choose,
                   const SharedPackings* packings = nullptr);

}  // namespace hone
