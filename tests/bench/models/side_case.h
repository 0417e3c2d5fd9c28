// The model and the inputs of one side of a comparison, as a file that the benchmark writes and the side reads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace hone::bench {

/// How long a turn of runs is: at least both, after a run that is not counted.
struct TurnRules {
  double least_ms = 50;
  int least_runs = 5;
};

/// An input or output: row-major, without gaps.
struct SideTensor {
  std::string name;            ///< as the ONNX file has it
  std::vector<int64_t> shape;  ///< empty: a scalar
  int onnx_type = 1;           ///< ONNX's number of the element type
  int64_t bytes = 0;
  std::string file;  ///< of an input: where its elements are; of an output: where the first run's are to be written
  /// When a run finds out the output's extent along `axis` (`shape` is the largest, the extents before it are 1): the
  /// number of the output, s64[1], that holds the extent and is not in the ONNX file. -1: all extents are known.
  int axis = -1, count = -1;
};

struct SideCase {
  std::string model;    ///< an artifact of tensorc, or an ONNX file
  std::string library;  ///< of ONNX Runtime; empty on our side
  int threads = 1;
  bool spinning = false;                ///< ONNX Runtime's own default: its threads spin between runs
  std::map<std::string, int64_t> dims;  ///< ONNX Runtime's free dimensions, by name
  std::vector<SideTensor> inputs, outputs;
  TurnRules turn;
  /// Runs are timed by the processor time that the process takes, not by the clock: for one thread on a core that
  /// others use, too.
  bool by_processor_time = false;
  /// Where the times of layers are to be written when they are asked for; empty: they will not be. ONNX Runtime
  /// measures each of its nodes from the start of a session that has a file, so its turns are no result.
  std::string layers_file;
};

OrderedJson to_json(const SideCase& c);
/// Usage errors of one line that name the file.
StatusOr<SideCase> read_side_case(const std::string& file);

}  // namespace hone::bench
