#include "tests/fuzz/graph/target.h"

#include <cstdio>
#include <cstdlib>

namespace hone::fuzz {

const std::vector<GraphTarget>& graph_targets() {
  static const std::vector<GraphTarget> targets = {
      {"onnx", &run_onnx, &onnx_seeds, &mutate_onnx},
      {"tflite", &run_tflite, &tflite_seeds, &mutate_tflite},
      {"graph", &run_graph_text, &graph_seeds, &mutate_graph_text},
  };
  return targets;
}

const GraphTarget& graph_target(std::string_view name) {
  for (const GraphTarget& t : graph_targets())
    if (t.name == name) return t;
  require(false, "there is no such target", name);
  std::abort();
}

void require(bool holds, std::string_view what, std::string_view where) {
  if (holds) return;
  std::fprintf(stderr, "%.*s\n%.*s\n", static_cast<int>(what.size()), what.data(), static_cast<int>(where.size()),
               where.data());
  std::abort();
}

}  // namespace hone::fuzz
