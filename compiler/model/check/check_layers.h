// Every layer of a model against its reference: on the inputs that it has in the model, and on adversarial ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "compiler/graph/graph.h"
#include "compiler/ir/denormals.h"
#include "compiler/model/check/check_progress.h"
#include "compiler/model/plan/layers.h"

namespace hone {

struct LayerCheck {
  size_t checked = 0;          ///< layers
  int64_t compared = 0;        ///< elements, on the model's inputs
  int64_t elements = 0;        ///< all of the outputs; `compared` are a sample of them, or all
  double rel_error = 0;        ///< the largest of a layer: the errors' norm as a share of the values', there
  size_t stressed = 0;         ///< layers that were compared on adversarial inputs, too
  size_t rounds = 0;           ///< how many such inputs there were in all
  size_t rounds_left_out = 0;  ///< how many more there was no time for
  size_t stress_left_out = 0;  ///< layers for which there was no time at all
  std::string wrong;           ///< the first layer that is wrong, and how; empty: none is
  /// By layer: the largest of its outputs' errors on the model's inputs, as above; nothing: it was not compared so.
  std::vector<std::optional<double>> errors = {};
  std::vector<TensorData> outputs;  ///< of the model, as the layers compute them
};

struct LayerCheckOptions {
  /// The time that the checks may take, roughly; the layers share it. Every layer is compared on the model's inputs,
  /// whatever that takes, but its share limits the number of compared elements (at least some ten thousand). The rest
  /// is for adversarial inputs: the layers get one each in turn, those that need the least time first, and unused time
  /// goes to the others.
  double seconds = 60;
  const Clock* clock = nullptr;           ///< for the time left; null: this machine's
  Denormals denormals = kUsualDenormals;  ///< how the artifact treats them
  CheckProgress progress = {};            ///< called for every layer, on the model's inputs and on adversarial ones
};

/// Runs the layers' kernels one by one on these inputs of the model, and compares sampled elements of their
/// outputs with the reference of the workload on the same inputs; then on adversarial inputs (compiler/check) in
/// slot of computed ones. Constants, conditions and indices stay as they are. An adversarial input is left out
/// when the naive program itself is further from the reference than allowed: a value overflows on the way and
/// comes back, or a divisor vanishes. Stops at the first layer that is wrong. On this machine, which is
/// `target`.
LayerCheck check_layers(const Graph& g, const Layers& layers, const Target& target,
                        const std::vector<TensorData>& inputs, const LayerCheckOptions& options = {});

}  // namespace hone
