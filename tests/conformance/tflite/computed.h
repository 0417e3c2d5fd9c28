// Cases of TensorFlow Lite as Hone computes them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "tests/conformance/tflite/case_file.h"

namespace hone {

/// What a case's graph gives: the outputs of each call, or why there are none.
struct ComputedCase {
  std::string refusal;
  std::vector<std::vector<AnswerTensor>> calls;
};

/// The case's model as imported. UserError where it is refused.
Graph graph_of_case(const TfliteCase& c);

/// Graphs side by side as one; ports are named `NUMBER/NAME`.
Graph joined(const std::vector<Graph>& graphs);

/// The outputs of each graph for its inputs.
using RunCases =
    std::function<std::vector<std::vector<TensorData>>(const std::vector<std::vector<TensorData>>& inputs)>;
/// All calls of the cases of these graphs, each call of all of them together. States begin with zeros.
std::vector<ComputedCase> called(const std::vector<const TfliteCase*>& cases, const std::vector<Graph>& graphs,
                                 const RunCases& run);

/// The cases of these graphs, computed by the interpreter, each by itself.
std::vector<ComputedCase> interpreted(const std::vector<const TfliteCase*>& cases, const std::vector<Graph>& graphs);
/// The same by artifacts for this machine, of many cases each; one that cannot be built in company is built alone.
std::vector<ComputedCase> run_as_artifacts(const std::vector<const TfliteCase*>& cases,
                                           const std::vector<Graph>& graphs);

}  // namespace hone
