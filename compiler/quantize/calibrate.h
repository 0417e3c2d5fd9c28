// Runs a model on samples: the ranges of its values, and the errors of its quantised form.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/quantize/histogram.h"
#include "compiler/quantize/quantize_graph.h"
#include "compiler/target/target.h"

namespace hone {

/// Inputs of a model, one sample after the other: folders with input_0.npy (or .pb), …, or files of the only input.
class Samples {
 public:
  /// UserError, one line, for a folder that has none.
  explicit Samples(const std::string& folder);
  size_t count() const { return paths_.size(); }
  /// The tensors of one for these ports. UserError, one line with its path, where they do not fit.
  std::vector<TensorData> read(size_t sample, const std::vector<Port>& ports) const;

 private:
  std::vector<std::string> paths_;
};

/// Called with the number of samples done, and of all.
using SampleProgress = std::function<void(size_t done, size_t all)>;

/// The ranges of the plan's values over all samples. The graph, as imported, is built with default configs for `here`,
/// this machine, and run.
Ranges calibrate(const Graph& imported, const QuantizationPlan& plan, const PassContext& context, const Target& here,
                 const Samples& samples, RangeMethod method, const SampleProgress& progress);

/// Errors of the quantised model, over samples.
struct QuantizationErrors {
  /// Norm of the difference over the norm of the values in f32: for the result of each of the plan's products, and for
  /// each output of the model.
  std::vector<double> products, outputs;
  /// In how many samples the first output has its largest element at the same position (in each row), of how many rows.
  int64_t equal_tops = 0, tops = 0;
};
QuantizationErrors compare_quantized(const Graph& imported, const Graph& quantized, const QuantizationPlan& plan,
                                     const PassContext& context, const Target& here, const Samples& samples,
                                     size_t most_samples, const SampleProgress& progress);

}  // namespace hone
