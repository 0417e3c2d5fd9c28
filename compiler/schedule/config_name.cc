#include "compiler/schedule/config_name.h"

#include <absl/strings/str_join.h>

#include <vector>

namespace hone {

std::string config_name(const Space& space, const Config& config) {
  if (space.print(config) == space.print(space.default_config())) return "default";
  std::vector<std::string> out;
  for (const size_t k : space.knobs_at_work(config)) {
    const Knob& knob = space.knobs()[k];
    const std::string word = knob.word_of(config.choices[k]);
    // Static is how all but a few divide their tasks.
    if (knob.name == "algorithm" || (knob.name == "partition" && word != "static")) out.push_back(word);
  }
  return out.empty() ? "tuned" : absl::StrJoin(out, " ");
}

}  // namespace hone
