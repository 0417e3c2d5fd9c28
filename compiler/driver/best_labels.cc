#include "compiler/driver/best_labels.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone {

std::vector<std::string> best_labels(const Graph& g, const std::vector<TensorData>& outputs,
                                     const ModelMetadata& metadata) {
  std::vector<std::string> lines;
  for (size_t o = 0; o < std::min(outputs.size(), g.outputs.size()); ++o) {
    const auto found = metadata.outputs.find(g.outputs[o].name);
    if (found == metadata.outputs.end() || !found->second.labels.axis) continue;
    const std::vector<std::string>& words = found->second.labels.words;
    const std::vector<double> scores = outputs[o].values();
    if (scores.empty() || scores.size() != words.size())
      continue;  // a score for each place of a picture, or of a batch
    // NaN is smaller than all.
    const auto best =
        std::max_element(scores.begin(), scores.end(), [](double a, double b) { return a < b || (a != a && b == b); });
    const auto place = static_cast<size_t>(best - scores.begin());
    std::string line =
        fmt::format("output {}: best is {} ({:.3g}), place {}", g.outputs[o].name, words[place], *best, place);
    const std::optional<double> least = found->second.least_score;
    if (least && !(*best >= *least)) line += fmt::format("; scores below {:.3g} say nothing", *least);
    lines.push_back(line);
  }
  return lines;
}

}  // namespace hone
