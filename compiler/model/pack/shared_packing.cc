#include "compiler/model/pack/shared_packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "compiler/build/build.h"
#include "compiler/ir/structural_hash.h"
#include "compiler/lower/layout_functions.h"
#include "compiler/ops/recurrence.h"

namespace hone {
namespace {

std::string packing_code(const Module& m, size_t p) {
  const auto f = packing_function(m, p);
  return f ? canonical_bytes(*f) : "";
}

// Inputs that are constants of the graph, with their elements.
std::vector<std::pair<size_t, const char*>> constants_of(const Graph& g, const Node& node) {
  std::vector<std::pair<size_t, const char*>> out;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (g.is_constant(node.inputs[i])) out.emplace_back(i, g.value(node.inputs[i]).constant->bytes().data());
  return out;
}

// The choice of `knob` that a config's text names; -1: none.
int choice_in(const std::string& config, const Knob& knob) {
  const std::string text = "," + config + ",";
  for (size_t c = 0; c < knob.choices.size(); ++c)
    if (text.find(fmt::format(",{}={},", knob.name, knob.text_of(static_cast<int>(c)))) != std::string::npos)
      return static_cast<int>(c);
  return -1;
}

// Looks for a config of one workload that packs as wanted.
class PackingSearch {
 public:
  PackingSearch(const Workload& w, const Target& target, const Space& space, std::map<size_t, std::string> wanted)
      : w_(w), target_(target), space_(space), wanted_(std::move(wanted)) {}

  // The search begins with `config` and takes from `other`, a config's text.
  std::optional<Config> find(Config config, const std::string& other) const {
    // Another algorithm has knobs of its own: knobs that it activates are looked at in a second round.
    for (int round = 0; round < 2; ++round) {
      Config next = config;
      const std::vector<size_t> matters = knobs_of_packing(config);
      for (const size_t k : matters) {
        next.choices[k] = choice_in(other, space_.knobs()[k]);
        if (next.choices[k] < 0) return std::nullopt;
      }
      const auto mended = valid_near(space_.canonical(next), matters);
      if (!mended) return std::nullopt;
      if (packs_as_wanted(*mended)) return mended;
      config = *mended;
    }
    return std::nullopt;
  }

  bool packs_as_wanted(const Config& config) const { return packing(config) == wanted_; }

 private:
  std::map<size_t, std::string> packing(const Config& config) const {
    const Module m = lower_config(w_, target_, space_, config);
    std::map<size_t, std::string> codes;
    for (const auto& [p, code] : wanted_) codes[p] = packing_code(m, p);
    return codes;
  }

  // Knobs whose other choices pack otherwise.
  std::vector<size_t> knobs_of_packing(const Config& config) const {
    const auto before = packing(config);
    std::vector<size_t> out;
    for (const size_t k : space_.knobs_at_work(config))
      for (size_t c = 0; c < space_.knobs()[k].choices.size(); ++c) {
        Config other = config;
        other.choices[k] = static_cast<int32_t>(c);
        other = space_.canonical(other);
        if (other == config || !space_.valid(other)) continue;
        if (packing(other) != before) out.push_back(k);
        break;
      }
    return out;
  }

  // `config`, or one that is valid and differs in one knob beside `fixed`, by as few choices as possible.
  std::optional<Config> valid_near(const Config& config, const std::vector<size_t>& fixed) const {
    if (space_.valid(config)) return config;
    for (int distance = 1;; ++distance) {
      bool is_within = false;
      for (const size_t k : space_.knobs_at_work(config)) {
        if (std::find(fixed.begin(), fixed.end(), k) != fixed.end()) continue;
        for (const int c : {config.choices[k] - distance, config.choices[k] + distance}) {
          if (c < 0 || c >= static_cast<int>(space_.knobs()[k].choices.size())) continue;
          is_within = true;
          Config other = config;
          other.choices[k] = c;
          other = space_.canonical(other);
          if (space_.valid(other)) return other;
        }
      }
      if (!is_within) return std::nullopt;
    }
  }

  const Workload& w_;
  const Target& target_;
  const Space& space_;
  const std::map<size_t, std::string> wanted_;  // codes, by parameter
};

}  // namespace

std::optional<Function> packing_function(const Module& m, size_t p) {
  const Param& param = m.params[p];
  const Prepack* prepack = prepack_of(m, p);
  if (param.role != ParamRole::kConstant || (!prepack && param.layout == Layout::identity(param.shape)))
    return std::nullopt;
  return prepack ? prepack->function : pack_function(param);
}

void SharedPackings::add(const Graph& g, const Node& node, const Module& m, const std::string& config) {
  for (const auto& [p, elements] : constants_of(g, node))
    packings_.emplace(elements, Packing{packing_code(m, p), config});
}

ChosenConfig SharedPackings::follow(const Graph& g, const Node& node, const Target& target, const Space& space,
                                    const ChosenConfig& chosen) const {
  std::map<size_t, std::string> wanted;
  std::string other;
  for (const auto& [p, elements] : constants_of(g, node)) {
    const auto known = packings_.find(elements);
    if (known == packings_.end()) continue;
    wanted[p] = known->second.code;
    if (!known->second.code.empty()) other = known->second.config;
  }
  if (wanted.empty()) return chosen;
  const auto steps = recurrence_of(node.workload);
  const PackingSearch search(steps ? steps->step : node.workload, target, space, std::move(wanted));
  if (search.packs_as_wanted(chosen.config)) return chosen;
  const auto found = search.find(chosen.config, other);
  if (!found) return chosen;
  return {*found, fmt::format("shared (packed as in another variant, else {})", chosen.source), chosen.skipped};
}

}  // namespace hone
