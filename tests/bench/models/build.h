// Our side's artifacts, made by tensorc as a user would.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ops/infer.h"
#include "tests/bench/models/model_list.h"

namespace hone::bench {

/// Runs `argv` until it ends, its output in the files `out` and `log`. Errors of one line: its last words and how it
/// ended, that it took longer than `limit`, interrupted_error() when `stop` was set.
Status run_program(const std::vector<std::string>& argv, const std::string& out, const std::string& log,
                   std::chrono::milliseconds limit, const std::atomic<bool>* stop);

struct NamedTensor {
  std::string name;
  TensorType type;
  /// The output that holds the extent along `axis`, where only a run finds it out. -1: all extents are known.
  int axis = -1, count = -1;
};

struct Artifact {
  std::string file;
  int64_t bytes = 0;                   ///< with a file of weights, if it has one
  std::map<std::string, int> configs;  ///< layers by the source of their config: best, exact, nearest, default, …
  std::vector<NamedTensor> inputs, outputs;
};

struct BuildOptions {
  std::string tensorc;
  std::string folder;  ///< exists; is for this artifact alone
  int threads = 1;
  std::string db;  ///< empty: each layer with its template's default config
  std::chrono::milliseconds limit{300'000};
  const std::atomic<bool>* stop = nullptr;
};

StatusOr<Artifact> build_artifact(const ModelSpec& model, const BuildOptions& options);

}  // namespace hone::bench
