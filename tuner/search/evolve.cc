// Evolutionary search on the model: the population is the best measured configs, their mutants and random ones; the
// model selects the parents. Promising configs that were not proposed are scored again in the next batch, by a better
// model.
#include "tuner/search/guided.h"

namespace hone {
namespace {

constexpr int kGenerations = 4;
constexpr size_t kRemembered = 256;

class EvolveSearcher final : public GuidedSearcher {
 public:
  using GuidedSearcher::GuidedSearcher;

 private:
  std::vector<Scored> explore(size_t budget) override {
    const size_t size = std::max<size_t>(16, budget / kGenerations);
    std::vector<Scored> everyone;
    Seen met(space_);
    std::vector<Config> generation = founders(size, met);
    for (int g = 0; g < kGenerations && !generation.empty(); ++g) {
      add_scored(std::move(generation), &everyone);
      generation = g + 1 < kGenerations ? children(everyone, size, met) : std::vector<Config>{};
    }
    std::erase_if(everyone, [&](const Scored& s) { return seen_.has(s.config); });
    remembered_.clear();
    for (size_t i = 0; i < everyone.size() && i < kRemembered; ++i) remembered_.push_back(everyone[i].config);
    return everyone;
  }

  // Remembered configs need no lowering: they come on top of the budget.
  std::vector<Config> founders(size_t size, Seen& met) {
    std::vector<Config> out;
    for (const Config& c : remembered_)
      if (!seen_.has(c) && met.add(c)) out.push_back(c);
    const size_t full = out.size() + size;
    const std::vector<Config> best = elite(size / 4);
    for (const Config& c : best)
      if (met.add(c)) out.push_back(c);
    for (size_t t = 0; !best.empty() && t < size / 2; ++t)
      if (auto c = valid_mutant(best[below(rng_, std::min<size_t>(best.size(), 16))]); c && met.add(*c))
        out.push_back(std::move(*c));
    for (size_t t = 0; out.size() < full && t < 2 * size; ++t)
      if (auto c = random_valid(); c && met.add(*c)) out.push_back(std::move(*c));
    return out;
  }

  // Parents come from the better part: the rank of a parent is the smallest of three draws.
  std::vector<Config> children(const std::vector<Scored>& everyone, size_t size, Seen& met) {
    std::vector<Config> out;
    const auto parent = [&]() -> const Config& {
      return everyone[std::min(
                          {below(rng_, everyone.size()), below(rng_, everyone.size()), below(rng_, everyone.size())})]
          .config;
    };
    for (size_t t = 0; out.size() < size && t < 4 * size; ++t) {
      const Config& a = parent();
      Config c = below(rng_, 3) == 0 ? cross(space_, a, parent(), rng_) : mutate(space_, a, rng_);
      if (space_.valid(c) && met.add(c)) out.push_back(std::move(c));
    }
    return out;
  }

  void add_scored(std::vector<Config> configs, std::vector<Scored>* everyone) {
    const std::vector<float> scores = ranker_.score(configs);
    for (size_t i = 0; i < configs.size(); ++i) everyone->push_back({std::move(configs[i]), scores[i]});
    sort_by_score(*everyone);
  }

  std::vector<Config> remembered_;
};

}  // namespace

std::unique_ptr<Searcher> make_evolve_searcher(const Space& space, Ranker& ranker, const SearchOptions& options) {
  return std::make_unique<EvolveSearcher>(space, ranker, options);
}

}  // namespace hone
