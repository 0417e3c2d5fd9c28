// What `tensorc m.onnx --quantize int8 --calibrate FOLDER` does to a model's graph, and says of it.
#pragma once

#include <optional>
#include <ostream>
#include <string>

#include "base/status.h"
#include "compiler/cli/tensorc.h"
#include "compiler/model/build_model.h"
#include "compiler/quantize/calibrate.h"

namespace hone {

/// Makes graphs of bytes of imported ones, all bindings of a model by the same ranges.
class ModelQuantizer {
 public:
  /// UserError, one line, for flags that do not go together. `here`: this machine, on which samples run.
  ModelQuantizer(const TensorcOptions& o, const PassContext& context, Target here, std::ostream& err);

  /// Reads or finds the ranges, the first time; says what it does and how long it will take.
  Graph quantize(const Graph& imported);

  /// What the first graph that was quantised became behind all passes, on this machine; its weights are those of int8.
  struct Built {
    const Graph& graph;
    const Layers& layers;
    const ChooseConfig& choose;  ///< where configs came from, for the model in f32
  };
  /// A table of the layers that were quantised: the relative error of each (as QuantizationErrors), and its time in ms
  /// in f32 and in int8, with the reason where the latter is longer; and the errors of the outputs. Errors are over the
  /// samples: none where ranges came from a file. Times are of `built`: none where it is null, as another machine runs
  /// it. Where there is neither, nothing is written.
  Status report(const Built* built, std::ostream& out);

 private:
  void find_ranges(const Graph& imported);
  SampleProgress progress(const std::string& what);

  const TensorcOptions& o_;
  const PassContext context_;
  const Target here_;
  std::ostream& err_;
  const RangeMethod method_;
  std::optional<Samples> samples_;
  std::optional<Ranges> ranges_;
  Graph imported_, quantized_;  // the first ones
  QuantizationPlan plan_;
};

}  // namespace hone
