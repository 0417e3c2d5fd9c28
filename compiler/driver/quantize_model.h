// A model of f32 with products of bytes, its errors and its gain.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/driver/request/events.h"
#include "compiler/driver/request/model_request.h"
#include "compiler/model/build_model.h"
#include "compiler/quantize/calibrate.h"

namespace hone {

/// A layer that was quantised.
struct QuantizedLayer {
  std::string name;                            ///< of the model's node
  std::optional<double> error;                 ///< as QuantizationErrors; nothing: there are no samples
  std::optional<double> seconds_f32, seconds;  ///< nothing: not timed, or it has no layer of its own
  std::string why_slower;                      ///< where it takes longer than in f32, the reason, if that is known
  bool is_slower() const { return seconds && seconds_f32 && *seconds > *seconds_f32; }
};
/// The result of quantising a model.
struct QuantizationReport {
  std::vector<QuantizedLayer> layers;
  std::vector<std::pair<std::string, double>> outputs;  ///< relative errors by name; empty without samples
  size_t tops = 0, equal_tops = 0;  ///< rows of the first output, and those whose largest element is at the same place
};

/// Makes graphs of bytes of imported ones, all bindings of a model by the same ranges.
class ModelQuantizer {
 public:
  /// UserError, one line, for flags that do not go together. `here`: this machine, on which samples run. All but that
  /// outlive it.
  ModelQuantizer(const ModelRequest& request, const PassContext& context, Target here, const Events& events);

  /// Reads or finds the ranges, the first time; notes its steps and how long they will take.
  Graph quantize(const Graph& imported);

  /// The ranges as a file of them has them; of a graph that was quantised.
  std::string found_ranges() const { return ranges_ ? ranges_text(*ranges_) : ""; }

  /// The first quantised graph behind all passes, on this machine. Its layers have the weights of int8.
  struct Built {
    const Graph& graph;
    const Layers& layers;
    const ChooseConfig& choose;  ///< where configs came from, for the model in f32
  };
  /// Errors are over the samples: none where ranges came from a file. Times are of `built`: none where it is null, as
  /// another machine runs it. Nothing where there is neither.
  StatusOr<std::optional<QuantizationReport>> report(const Built* built);

 private:
  void find_ranges(const Graph& imported);
  SampleProgress progress(const std::string& what);

  const QuantizeRequest& asked_;
  const PassContext context_;
  const Target here_;
  const Events& events_;
  const RangeMethod method_;
  std::optional<Samples> samples_;
  std::optional<Ranges> ranges_;
  Graph imported_, quantized_;  // the first ones
  QuantizationPlan plan_;
};

}  // namespace hone
