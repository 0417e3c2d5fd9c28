// The models to measure, and the needs of their builds and inputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace hone::bench {

/// Values of an input: uniform between both, which are among them where they are whole numbers.
struct Range {
  double low = 0, high = 0;
  bool operator==(const Range&) const = default;
};

struct ModelSpec {
  std::string name;
  std::string file;                    ///< the ONNX file with its weights; of a stripped graph: as it will be
  std::vector<std::string> bind;       ///< NAME=N, as tensorc takes them
  std::vector<std::string> shapes;     ///< INPUT=1x3x48x192
  std::map<std::string, Range> fills;  ///< by input; the others have the ranges that fill() has by itself
  /// The command that writes `file`.part, which is then renamed; empty: the file is there.
  std::vector<std::string> make;
};

/// `LOW..HIGH`. Usage error for anything else.
StatusOr<Range> parse_range(const std::string& text);

/// Files of the command line. Each of `bind` (NAME=N), `shapes` and `fills` (INPUT=LOW..HIGH) is for all models, or
/// with `MODEL:` in front, the file's name without its extension, for that one. Usage errors name the file or the flag.
StatusOr<std::vector<ModelSpec>> given_models(const std::vector<std::string>& files,
                                              const std::vector<std::string>& bind,
                                              const std::vector<std::string>& shapes,
                                              const std::vector<std::string>& fills);

/// The models of `folder`/models.json, which maps names to {"file", "inputs": {NAME: {"shape", "free", "data"}}}. Files
/// with a list of weights beside them (NAME.json) are stripped: `folder`/fill_weights.py makes the model in `filled`,
/// unless it is there. `only` names some; empty: all. Usage errors name the file and what is wrong.
StatusOr<std::vector<ModelSpec>> listed_models(const std::string& folder, const std::vector<std::string>& only,
                                               const std::string& filled);

/// $XDG_CACHE_HOME/hone/models, or ~/.cache/hone/models.
std::string usual_filled_folder();

}  // namespace hone::bench
