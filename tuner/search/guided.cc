#include "tuner/search/guided.h"

namespace hone {

void GuidedSearcher::take(Config c, std::optional<float> predicted, std::vector<Proposal>* out) {
  seen_.add(c);
  out->push_back({std::move(c), predicted});
}

std::vector<Proposal> GuidedSearcher::propose(size_t n) {
  std::vector<Proposal> out;
  if (n == 0) return out;
  if (ranker_.ready()) {
    const size_t random = static_cast<size_t>(std::ceil(options_.random_share * static_cast<double>(n)));
    const size_t guided = n > random ? n - random : n;
    const std::vector<Scored> found = explore(n * static_cast<size_t>(options_.looked_at_per_proposal));
    // Two passes: first configs that differ from those taken in more than one knob, so that a batch is not one config with its neighbours.
    for (const int apart : {2, 1})
      for (const Scored& s : found) {
        if (out.size() >= guided) break;
        if (!std::isfinite(s.score) || seen_.has(s.config)) continue;
        const bool close = std::any_of(out.begin(), out.end(), [&](const Proposal& p) { return distance(p.config, s.config) < apart; });
        if (!close) take(s.config, s.score, &out);
      }
  } else {
    // Nothing to go by yet: half of the batch near what is known (the default), the rest anywhere.
    const std::vector<Config> known = elite(4);
    for (size_t t = 0; !known.empty() && out.size() < n / 2 && t < 4 * n; ++t) {
      auto c = valid_mutant(known[below(rng_, known.size())]);
      if (c && !seen_.has(*c)) take(std::move(*c), std::nullopt, &out);
    }
  }
  while (out.size() < n) {
    auto c = random_unseen(space_, seen_, rng_);
    if (!c) break;
    take(std::move(*c), std::nullopt, &out);
  }
  return out;
}

void GuidedSearcher::report(const std::vector<Observation>& outcomes) {
  std::vector<Config> configs;
  std::vector<double> speeds;
  for (const Observation& o : outcomes) {
    seen_.add(o.config);
    if (!o.counts) continue;
    configs.push_back(o.config);
    speeds.push_back(o.score);
    if (o.score > 0) measured_.push_back(o);
  }
  std::stable_sort(measured_.begin(), measured_.end(), [](const Observation& a, const Observation& b) { return a.score > b.score; });
  if (measured_.size() > 256) measured_.resize(256);
  if (!configs.empty()) ranker_.learn(configs, speeds);
}

std::vector<Config> GuidedSearcher::elite(size_t n) const {
  std::vector<Config> out;
  for (size_t i = 0; i < measured_.size() && i < n; ++i) out.push_back(measured_[i].config);
  return out;
}

std::optional<Config> GuidedSearcher::valid_mutant(const Config& from) {
  for (int t = 0; t < 20; ++t) {
    Config c = mutate(space_, from, rng_);
    if (space_.valid(c)) return c;
  }
  return std::nullopt;
}

}  // namespace hone
