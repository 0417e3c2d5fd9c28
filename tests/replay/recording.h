// A recorded space: every valid config of a sub-space with its time, its program and its features. The search is
// developed and judged on it, without a device.
//
// A recording stands alone: knobs, choices and which configs are valid are in it, so that it can be replayed when the
// template has changed. The file is JSON, columns of numbers, compressed by zstd: `zstdcat
// tests/replay/recordings/C6.json.zst | head -c 1000`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "tuner/features/features.h"

namespace hone::replay {

struct RecordedKnob {
  std::string name;
  std::vector<std::string> choices;  ///< as printed
  int32_t default_choice = 0;
};

struct RecordedConfig {
  std::vector<int32_t> choices;  ///< one a knob; -1 where the knob does not matter
  std::string status;            ///< of the trial, `ok` and the like
  double seconds = 0;            ///< median; a lower bound when censored; 0 unless ok
  bool censored = false;
  int32_t measured = 0;  ///< how many times
  int32_t program = 0;   ///< equal numbers: equal programs
  Features features{};
};

struct Recording {
  std::string name, workload, target, device;
  std::string template_name;
  int64_t template_revision = 0;
  std::string fingerprint;  ///< of the sub-space recorded
  std::string command, version, date;
  double flops = 0;    ///< of the workload
  std::string schema;  ///< hex of feature_schema() when the features were computed
  std::vector<RecordedKnob> knobs;
  std::vector<RecordedConfig> configs;
  size_t default_config = 0;  ///< its place among `configs`

  /// Seconds of the fastest; 0 when none ran.
  double best_seconds() const;
};

/// Replaces the file as a whole.
Status save(const Recording& recording, const std::string& path);
/// Features of another schema are an error that names the command that computes them again; they are left out, and no
/// error, without `with_features`.
StatusOr<Recording> load_recording(const std::string& path, bool with_features = true);

/// tests/replay/recordings of this source tree.
std::string recordings_folder();

}  // namespace hone::replay
