// An engine runs a model on one side of a comparison.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "tests/bench/models/layers.h"
#include "tests/bench/models/side_case.h"

namespace hone::bench {

/// Memory of one tensor, aligned to a cache line.
struct FreeMemory {
  void operator()(void* data) const;
};
using Memory = std::unique_ptr<void, FreeMemory>;
/// Allocates `bytes`, zeroed; at least one.
Memory allocate(int64_t bytes);

/// The memory of all inputs and outputs, in the order of the case; the inputs are filled.
struct Buffers {
  std::vector<Memory> inputs, outputs;
};

/// An opened model, bound to its buffers.
class Engine {
 public:
  virtual ~Engine() = default;
  /// Reads the inputs and writes the outputs once. Errors are of one line.
  virtual Status run() = 0;
  /// How long each layer takes, over runs as `rules` say; the last call of an engine. The case has a `layers_file`,
  /// beside which it may write.
  virtual StatusOr<std::vector<LayerTime>> layers(const TurnRules& rules) = 0;
};

struct Opened {
  std::unique_ptr<Engine> engine;
  std::string version;    ///< of what runs the model
  double library_ms = 0;  ///< to load a library that is the same for all models
  double open_ms = 0;     ///< to make the model ready, threads included
};

/// `buffers` live as long as the engine.
using OpenEngine = std::function<StatusOr<Opened>(const SideCase& c, const Buffers& buffers)>;

/// An artifact of tensorc, by libhone_runtime.
StatusOr<Opened> open_hone(const SideCase& c, const Buffers& buffers);
/// ONNX Runtime by its C API, from the library that the case names: all graph optimizations, as many threads as the
/// case says (none of them beside the model), free dimensions fixed, outputs bound.
StatusOr<Opened> open_onnxruntime(const SideCase& c, const Buffers& buffers);
/// TensorFlow Lite by its C API, from the library that the case names; inputs and outputs are copied in each run.
StatusOr<Opened> open_tflite(const SideCase& c, const Buffers& buffers);

}  // namespace hone::bench
