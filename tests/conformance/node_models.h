// ONNX's own test data: small models with their expected outputs.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ops/operator.h"

namespace hone {

/// The result of running a model.
struct Outcome {
  enum Kind {
    kRight,
    kRightWhenBound,  ///< with inputs that became constants: those that a refusal named
    kRefused,         ///< or its data are of types that nobody reads
    kWrong,
  } kind = kRight;
  std::string why;              ///< of the last two
  std::set<std::string> bound;  ///< names of inputs
};

/// How the models are computed.
enum class Engine {
  kInterpreter,  ///< the imported graph, before all passes
  kArtifact,     ///< built by tensorc for this machine, on one thread
};

/// The data's folders, sorted: those below `data` that hold a model.onnx.
std::vector<std::filesystem::path> node_models(const std::filesystem::path& data);

/// Every data set of the model in `folder` (the first alone where inputs had to be bound) against ONNX's tolerances.
Outcome outcome_of(const std::filesystem::path& folder, const OperatorTable& operators, Engine engine);

/// Which of a release's models are not right, and why.
using Exceptions = std::map<std::string, std::string>;
/// Those of the release that `data` is of: lines `NAME: reason` of tests/conformance/onnx-*.txt, where `#` begins a
/// comment.
Exceptions listed_exceptions(const std::filesystem::path& data);

struct Tally {
  int right = 0, right_when_bound = 0, all = 0;
  std::vector<std::string> faults;  ///< a line each: models that are not right and not listed, or listed and right
};
/// The outcomes of these models. HONE_CONFORMANCE=TEXT tries those alone that have it in their names;
/// HONE_CONFORMANCE_LIST=1 prints failures, as the lists have them.
Tally tally(const std::vector<std::filesystem::path>& folders, const Exceptions& exceptions,
            const OperatorTable& operators, Engine engine);

}  // namespace hone
