// A variant of a model's artifact, checked and timed on this machine: `tensorc m.onnx --check --bench --inputs FOLDER`.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/cli/tensorc.h"
#include "compiler/graph/graph.h"
#include "compiler/ir/denormals.h"
#include "compiler/model/layers.h"
#include "compiler/model/run_model.h"

namespace hone {

/// Inputs of a model and what it is to compute of them; both from a folder's files.
struct TestTensors {
  std::vector<TensorData> inputs, outputs;
};
/// FOLDER/input_0.npy or .pb, …, and output_0, …. UserError for no such folder, and files that are no tensors.
/// `wanted_bytes`: of the largest tensor that is expected, as read_tensor_file() takes it.
TestTensors read_test_tensors(const std::string& folder, int64_t wanted_bytes);
/// Why `--inputs FOLDER`, where `given` inputs were read, is none for a model of `taken`.
std::string other_number_of_inputs(const std::string& folder, size_t given, size_t taken);

struct VariantHere {
  std::string name;  ///< it begins each line; empty where there is one variant
  const Graph& graph;
  const Graph& imported;  ///< the graph of before all passes, for --check
  const Layers& layers;
  const Target& target;  ///< this machine
  double check_seconds;  ///< that checks may take, roughly
  const Growth* growth;  ///< caches that grow in place, which are run with the most rows; null: there are none
  Denormals denormals = kUsualDenormals;  ///< what they are to the artifact
  /// Of a model for a GPU: the device that it runs on and what that is; `target` is the CPU beside it. Else null.
  Device* gpu = nullptr;
  const Target* gpu_target = nullptr;
  ReadCpuAccount cpu_account = {};  ///< of TensorcOptions
};

/// What was found of a variant, for its report.
struct VariantFigures {
  std::vector<double> kernel_seconds;                     ///< empty: not measured
  std::optional<double> median_seconds, fastest_seconds;  ///< of --bench
  std::string check;                                      ///< of --check, in words; empty: nothing was found
  bool is_wrong = false;                                  ///< `check` says what is
  std::vector<std::optional<double>> errors;              ///< by layer, as of LayerCheck
};

/// What --check, --bench and --inputs ask for. `given`: of --inputs; null: on seeded inputs. What is found is in
/// `*figures`, too, also where it is wrong. Internal for a result that is wrong.
Status run_variant(const TensorcOptions& o, const VariantHere& v, LoadedModel loaded, const TestTensors* given,
                   VariantFigures* figures, std::ostream& out, std::ostream& err);

}  // namespace hone
