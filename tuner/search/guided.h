// Base of the searchers that a ranker guides: keeps the measurements, fills batches, falls back to random draws.
//
// A batch consists of, in this order: seeds while there are some; neighbours of the best measured (coordinate descent:
// one knob changed); the results of explore(); and now and then a random config.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>

#include "tuner/search/moves.h"
#include "tuner/search/searcher.h"

namespace hone {

class GuidedSearcher : public Searcher {
 public:
  GuidedSearcher(const Space& space, Ranker& ranker, const SearchOptions& options)
      : space_(space),
        ranker_(ranker),
        options_(options),
        rng_(options.seed),
        seen_(space),
        seeds_(options.seeds.begin(), options.seeds.end()) {}

  std::vector<Proposal> propose(size_t n) final;
  void report(const std::vector<Observation>& outcomes) final;

 protected:
  struct Scored {
    Config config;
    float score = 0;
  };
  /// Promising unseen configs, best first, without duplicates; looks at about `budget` configs.
  virtual std::vector<Scored> explore(size_t budget) = 0;

  /// The fastest measured so far, fastest first, at most `n`.
  std::vector<Config> elite(size_t n) const;
  std::optional<Config> random_valid() { return space_.sample(rng_, 500); }
  /// A valid mutant of `from`; nothing when a few tries gave none.
  std::optional<Config> valid_mutant(const Config& from);
  /// Best first; configs of equal score in the order given.
  static void sort_by_score(std::vector<Scored>& configs);

  const Space& space_;
  Ranker& ranker_;
  const SearchOptions options_;
  std::mt19937_64 rng_;
  Seen seen_;

 private:
  void take(Config c, std::optional<float> predicted, std::vector<Proposal>* out);
  /// Takes up to `n` of `found`: first configs that differ enough from the batch so far, then, if need be, others.
  void take_apart(const std::vector<Scored>& found, size_t n, std::vector<Proposal>* out);
  /// Unseen configs one knob away from the fastest few, best first.
  std::vector<Scored> neighbours_of_best();
  size_t random_count(size_t n);

  std::deque<Config> seeds_;
  std::vector<Observation> measured_;  ///< those that ran, fastest first
  double random_owed_ = 0;
  size_t since_gain_ = 0;  ///< outcomes since the last improvement of the best
};

}  // namespace hone
