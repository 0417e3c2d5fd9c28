// Readers of graphs that others wrote, as a fuzzer feeds them.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace hone::fuzz {

/// One reader. Any input of `run` is refused in one line or becomes a graph that verifies, prints, is rewritten and
/// computes the same; all else ends the process, with the fault on stderr.
struct GraphTarget {
  std::string_view name;
  void (*run)(std::string_view bytes);
  std::vector<std::string> (*seeds)();
  /// Bytes changed in one place; most stay something that is read.
  std::string (*mutate)(const std::string& bytes, std::mt19937_64& rng);
};

/// `onnx`, `tflite`: a model's file -> import -> passes. `graph`: a graph's text -> parse -> passes -> interpreter.
const std::vector<GraphTarget>& graph_targets();
const GraphTarget& graph_target(std::string_view name);

// The parts of the table.
void run_onnx(std::string_view bytes);
std::vector<std::string> onnx_seeds();
std::string mutate_onnx(const std::string& bytes, std::mt19937_64& rng);
void run_tflite(std::string_view bytes);
std::vector<std::string> tflite_seeds();
std::string mutate_tflite(const std::string& bytes, std::mt19937_64& rng);
void run_graph_text(std::string_view bytes);
std::vector<std::string> graph_seeds();
std::string mutate_graph_text(const std::string& bytes, std::mt19937_64& rng);

/// Ends the process unless `holds`.
void require(bool holds, std::string_view what, std::string_view where);
/// Numbers at which something may go wrong.
int64_t odd_number(std::mt19937_64& rng);
/// One byte changed, dropped or doubled.
std::string mutate_bytes(std::string bytes, std::mt19937_64& rng);

}  // namespace hone::fuzz
