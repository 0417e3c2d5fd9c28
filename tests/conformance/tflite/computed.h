// Cases of TensorFlow Lite as Hone computes them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "tests/conformance/tflite/case_file.h"

namespace hone {

/// Cases that are kept, with their graphs as imported; HONE_TFLITE_CASES=TEXT: those alone that have it in their names.
struct ReadCases {
  std::vector<const TfliteCase*> cases;
  std::vector<Graph> graphs;
  std::vector<std::string> refusals;  ///< a line each, of the others
};
ReadCases read_cases(const TfliteCases& all);
/// Every n-th case of each operator, the first one too.
ReadCases every(size_t n, const ReadCases& all);

/// The results of a case's graph: the outputs of each call, or why there are none.
struct ComputedCase {
  std::string refusal;
  std::vector<std::vector<AnswerTensor>> calls;
};

/// A line for each case that does not give what is kept of TensorFlow Lite.
std::vector<std::string> faults_of(const ReadCases& read, const std::vector<ComputedCase>& computed);

/// Graphs side by side as one; ports are named `NUMBER/NAME`.
Graph joined(const std::vector<Graph>& graphs);

/// The outputs of each graph for its inputs.
using RunCases =
    std::function<std::vector<std::vector<TensorData>>(const std::vector<std::vector<TensorData>>& inputs)>;
/// All calls of the cases of these graphs, each call of all of them together. States begin with zeros.
std::vector<ComputedCase> called(const ReadCases& all, const RunCases& run);

/// The cases of these graphs, computed by the interpreter, each by itself.
std::vector<ComputedCase> interpreted(const ReadCases& all);
/// The same by artifacts for this machine, of many cases each; one that cannot be built in company is built alone.
std::vector<ComputedCase> run_as_artifacts(const ReadCases& all);

}  // namespace hone
