// Base of the searchers that a ranker guides: keeps what was measured, fills batches, falls back to random draws.
#pragma once

#include <algorithm>
#include <cmath>

#include "tuner/search/moves.h"
#include "tuner/search/searcher.h"

namespace hone {

class GuidedSearcher : public Searcher {
 public:
  GuidedSearcher(const Space& space, Ranker& ranker, const SearchOptions& options)
      : space_(space), ranker_(ranker), options_(options), rng_(options.seed), seen_(space) {}

  std::vector<Proposal> propose(size_t n) final;
  void report(const std::vector<Observation>& outcomes) final;

 protected:
  struct Scored {
    Config config;
    float score = 0;
  };
  /// Promising configs that were not seen, best first, each once; looks at about `budget` configs.
  virtual std::vector<Scored> explore(size_t budget) = 0;

  /// The fastest measured so far, fastest first, at most `n`.
  std::vector<Config> elite(size_t n) const;
  std::optional<Config> random_valid() { return space_.sample(rng_, 500); }
  /// `from` with a valid change; nothing when a few tries gave none.
  std::optional<Config> valid_mutant(const Config& from);

  const Space& space_;
  Ranker& ranker_;
  const SearchOptions options_;
  std::mt19937_64 rng_;
  Seen seen_;

 private:
  void take(Config c, std::optional<float> predicted, std::vector<Proposal>* out);

  std::vector<Observation> measured_;  ///< that ran, fastest first
};

}  // namespace hone
