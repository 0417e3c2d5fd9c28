#include "tests/fuzz/graph/target.h"

#include <cstdio>
#include <cstdlib>

namespace hone::fuzz {

const std::vector<GraphTarget>& graph_targets() {
  static const std::vector<GraphTarget> targets = {
      {"onnx", &run_onnx, &onnx_seeds, &mutate_onnx},
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

int64_t odd_number(std::mt19937_64& rng) {
  static constexpr int64_t kOdd[] = {0,
                                     1,
                                     2,
                                     3,
                                     4,
                                     7,
                                     8,
                                     16,
                                     -1,
                                     -2,
                                     64,
                                     255,
                                     256,
                                     1 << 16,
                                     1 << 24,
                                     INT32_MAX,
                                     INT32_MIN,
                                     INT64_MAX,
                                     INT64_MIN,
                                     int64_t{1} << 32,
                                     int64_t{1} << 48,
                                     (int64_t{1} << 62) + 1};
  return rng() % 2 ? static_cast<int64_t>(rng() % 6) : kOdd[rng() % std::size(kOdd)];
}

std::string mutate_bytes(std::string bytes, std::mt19937_64& rng) {
  if (bytes.empty()) return std::string(1, static_cast<char>(rng()));
  const size_t at = rng() % bytes.size();
  switch (rng() % 4) {
    case 0: bytes.erase(at, 1 + rng() % 4); break;
    case 1: bytes.insert(at, bytes.substr(at, 1 + rng() % 8)); break;
    default: bytes[at] = static_cast<char>(rng()); break;
  }
  return bytes;
}

}  // namespace hone::fuzz
