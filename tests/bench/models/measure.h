// One row: a model built, checked against ONNX Runtime, started and timed beside it.
#pragma once

#include <functional>

#include "tests/bench/models/model_list.h"
#include "tests/bench/models/result.h"
#include "tests/bench/models/side_case.h"

namespace hone::bench {

struct MeasureOptions {
  std::string tensorc;    ///< programs, by their paths
  std::string side;       ///< bench_models_side
  std::string peer;       ///< the program that runs ONNX Runtime: bench_models_side too; tests have another
  std::string library;    ///< ONNX Runtime's
  std::string db;         ///< the tuned artifact's tophub; empty: there is no tuned artifact
  bool layers = false;    ///< how long the layers of both sides take
  bool spinning = false;  ///< ONNX Runtime once more, with its defaults, and 100 ms of pause before our turns
  int turns = 9;
  int starts = 3;  ///< processes started for the time until the first outputs
  TurnRules turn;
  double tolerance = 0.05;  ///< the largest difference of outputs, over the largest value, that is no error
  std::chrono::milliseconds limit{300'000};  ///< of each step: a build, a start, a turn
  std::string folder;                        ///< exists; for files of the run
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// A failure of a model or of a side is the row's error; a status is returned only when `stop` was set. `peer_version`
/// is set once ONNX Runtime was seen.
StatusOr<Row> measure(const ModelSpec& model, int threads, const MeasureOptions& options, std::string& peer_version);

}  // namespace hone::bench
