// A genetic algorithm on measurements alone, without a model.
#include <algorithm>

#include "tuner/search/moves.h"
#include "tuner/search/searcher.h"

namespace hone {
namespace {

constexpr size_t kParents = 32;

class GeneticSearcher final : public Searcher {
 public:
  GeneticSearcher(const Space& space, const SearchOptions& options)
      : space_(space), options_(options), seen_(space), rng_(options.seed) {}

  std::vector<Proposal> propose(size_t n) override {
    std::vector<Proposal> out;
    const size_t bred =
        parents_.size() < 4 ? 0 : n - std::min(n, static_cast<size_t>(options_.random_share * static_cast<double>(n)));
    for (size_t t = 0; out.size() < bred && t < 20 * n; ++t) {
      const Config& a = parent();
      Config c = cross(space_, a, parent(), rng_);
      if (below(rng_, 2) == 0) c = mutate(space_, c, rng_);
      if (!seen_.has(c) && space_.valid(c)) take(std::move(c), &out);
    }
    while (out.size() < n) {
      auto c = random_unseen(space_, seen_, rng_);
      if (!c) break;
      take(std::move(*c), &out);
    }
    return out;
  }

  void report(const std::vector<Observation>& outcomes) override {
    for (const Observation& o : outcomes) {
      seen_.add(o.config);
      if (o.counts && o.score > 0) parents_.push_back(o);
    }
    std::stable_sort(parents_.begin(), parents_.end(),
                     [](const Observation& a, const Observation& b) { return a.score > b.score; });
    if (parents_.size() > kParents) parents_.resize(kParents);
  }

 private:
  const Config& parent() {
    return parents_[std::min(below(rng_, parents_.size()), below(rng_, parents_.size()))].config;
  }
  void take(Config c, std::vector<Proposal>* out) {
    seen_.add(c);
    out->push_back({std::move(c), std::nullopt});
  }

  const Space& space_;
  const SearchOptions options_;
  Seen seen_;
  std::mt19937_64 rng_;
  std::vector<Observation> parents_;  // fastest first
};

}  // namespace

std::unique_ptr<Searcher> make_genetic_searcher(const Space& space, const SearchOptions& options) {
  return std::make_unique<GeneticSearcher>(space, options);
}

}  // namespace hone
