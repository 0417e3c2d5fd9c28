// The data of a report on a built model, from which its page and its JSON are made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hone {

struct ReportLayer {
  std::string nodes;     ///< names of the model's nodes that it stands for, joined by ` + `
  std::string workload;  ///< its canonical text
  std::string config, source;
  std::string kernel;         ///< the function's name in the artifact
  std::string threads;        ///< `all`, `one`, `region 3`, `region 3, thread 1`
  std::string in_place;       ///< the value whose memory its output takes; empty: none
  std::string alone, layout;  ///< why it is a layer by itself; why in that layout; empty: nothing was noted
  double operations = 0;      ///< of the direct algorithm; 0: it only moves elements
  double bytes = 0;           ///< of the kernel's arguments, each once
  std::optional<double> seconds;
  std::optional<double> roof_seconds;  ///< the least that the machine's arithmetic or memory needs for it
  std::optional<double> error;         ///< relative, of --check
};

/// A buffer of the arena, needed from step `first` to step `last`, both included. A step is a layer; the one behind all
/// layers copies outputs.
struct ReportBuffer {
  std::string name;
  bool is_workspace = false;
  int64_t offset = 0, bytes = 0;
  int first = 0, last = 0;
};

/// Nodes that need no code.
struct ReportFree {
  std::string nodes, workload;
};

struct ReportPass {
  std::string name;
  int64_t nodes = 0;  ///< of the graph behind it
  double seconds = 0;
};

struct ReportPort {
  std::string name, type;
  bool operator==(const ReportPort&) const = default;
};

struct ReportVariant {
  std::string name;  ///< empty where there is one
  int threads = 1;
  int64_t arena_bytes = 0, arena_bound = 0;
  std::optional<double> median_seconds, fastest_seconds;  ///< of the whole, of --bench
  std::string check;                                      ///< the result of --check, in words; empty: not asked for
  std::vector<ReportPort> inputs, outputs;
  std::vector<ReportLayer> layers;
  std::vector<ReportBuffer> buffers;
  std::vector<ReportFree> free;
  std::vector<ReportPass> passes;

  /// The sum over all layers, each run by itself; nothing when they were not timed.
  std::optional<double> layer_seconds() const;
};

struct ModelReport {
  std::string model, hone, target;
  std::string denormals;  ///< how the artifact treats them, keep or zero; empty: it is for a GPU
  std::string nans;       ///< how the artifact treats them: kept, or taken for impossible
  std::string machine;    ///< that times are of; empty: none were measured
  std::string when;       ///< UTC, `2026-01-31 12:00`
  int64_t artifact_bytes = 0, weight_bytes = 0;
  std::string weights_file;  ///< empty: the weights are in the artifact
  std::optional<double> peak_gflops;
  std::vector<ReportVariant> variants;
};

}  // namespace hone
