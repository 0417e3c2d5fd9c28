// Simulated annealing on the model: chains that walk from config to config while they cool down; they continue from
// batch to batch.
#include "tuner/search/guided.h"

namespace hone {
namespace {

constexpr size_t kChains = 64;

class AnnealSearcher final : public GuidedSearcher {
 public:
  using GuidedSearcher::GuidedSearcher;

 private:
  std::vector<Scored> explore(size_t budget) override {
    std::vector<Config> at = std::exchange(chains_, {});
    for (const Config& c : elite(kChains / 4)) at.push_back(c);
    while (at.size() < kChains) {
      auto c = random_valid();
      if (!c) break;
      at.push_back(std::move(*c));
    }
    if (at.empty()) return {};
    std::vector<float> scores = ranker_.score(at);
    std::vector<Scored> found;
    Seen met(space_);
    const auto meet = [&](const Config& c, float score) {
      if (met.add(c) && !seen_.has(c)) found.push_back({c, score});
    };
    for (size_t i = 0; i < at.size(); ++i) meet(at[i], scores[i]);
    const size_t steps = std::max<size_t>(4, budget / at.size());
    for (size_t step = 0; step < steps; ++step) {
      // A rank loss has no unit: temperatures are in units of the scores' spread. Scores below 0 are as good as others.
      const double temperature = spread(scores) * (1.0 - static_cast<double>(step) / static_cast<double>(steps));
      std::vector<Config> next;
      for (const Config& c : at) next.push_back(valid_mutant(c).value_or(c));
      const std::vector<float> next_scores = ranker_.score(next);
      for (size_t i = 0; i < at.size(); ++i) {
        meet(next[i], next_scores[i]);
        const double gain = static_cast<double>(next_scores[i]) - scores[i];
        if (gain >= 0 || (temperature > 0 && unit(rng_) < std::exp(gain / temperature)))
          at[i] = next[i], scores[i] = next_scores[i];
      }
    }
    at.resize(std::min(at.size(), kChains / 2));
    chains_ = std::move(at);
    std::stable_sort(found.begin(), found.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
    return found;
  }

  static double spread(const std::vector<float>& scores) {
    double low = INFINITY, high = -INFINITY;
    for (float s : scores)
      if (std::isfinite(s)) low = std::min<double>(low, s), high = std::max<double>(high, s);
    return high > low ? (high - low) / 4 : 0;
  }

  std::vector<Config> chains_;
};

}  // namespace

std::unique_ptr<Searcher> make_anneal_searcher(const Space& space, Ranker& ranker, const SearchOptions& options) {
  return std::make_unique<AnnealSearcher>(space, ranker, options);
}

}  // namespace hone
