// Measured results, as they are kept in JSON and shown in the table and in the chart.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "tests/bench/models/side_process.h"

namespace hone::bench {

// The contenders' names, in rows and in JSON.
inline constexpr const char* kUntuned = "untuned";
inline constexpr const char* kTuned = "tuned";
inline constexpr const char* kPeer = "onnxruntime";
/// ONNX Runtime with its defaults: its threads spin between runs.
inline constexpr const char* kSpinningPeer = "onnxruntime_spinning";

/// One model on one number of threads.
struct Row {
  std::string model, group;
  int threads = 1;
  std::string error;  ///< one line; a row with one has no times
  /// Layers by the source of their config, of the tuned artifact where there is one.
  std::map<std::string, int> configs;
  std::map<std::string, std::vector<double>> turns_ms;  ///< of each contender
  /// The largest difference between our outputs and ONNX Runtime's, over that output's largest value.
  double difference = 0;
  double others_cpus = 0;  ///< how many CPUs others kept busy during the turns: above some tenths, times are off
  int64_t artifact_bytes = 0, model_bytes = 0;
  std::map<std::string, StartTimes> starts;  ///< of each contender
  /// With `--layers`, of ONNX Runtime and of our tuned artifact, or of the untuned one where there is no other.
  std::map<std::string, std::vector<LayerTime>> layers;
  std::string no_layers;  ///< one line: why there are none, though they were asked for

  /// The median turn, in milliseconds; 0 where this contender has none.
  double ms(const std::string& contender) const;
  /// ONNX Runtime's time over a contender's: above 1 the contender is faster. 0 where one of them has no time.
  double ratio(const std::string& contender) const;
};

struct Report {
  std::string machine, command;
  std::string peer_version;  ///< ONNX Runtime's
  int64_t peer_library_bytes = 0;
  std::vector<Row> rows;
};

double median(std::vector<double> values);
/// 0 for none.
double geometric_mean(const std::vector<double>& values);

/// The ratios of one contender over the rows of a group on a number of threads; `group` "" is all of them.
std::vector<double> ratios(const Report& report, const std::string& contender, const std::string& group, int threads);
/// In the order of their first rows.
std::vector<std::string> groups_of(const Report& report);
/// Ascending.
std::vector<int> threads_of(const Report& report);

OrderedJson to_json(const Report& report);
/// Reverses to_json(). Usage errors of one line that name the file.
StatusOr<Report> read_report(const std::string& file);

/// This machine's processor as /proc/cpuinfo names it, and how many of its CPUs this process may use.
std::string machine_name();

}  // namespace hone::bench
