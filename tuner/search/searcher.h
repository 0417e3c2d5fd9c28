// Searchers propose which configs of a space to measure next.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/schedule/space.h"
#include "tuner/search/ranker.h"

namespace hone {

/// A config and its outcome: speed in any unit that is the same for all, 0 when it failed.
struct Observation {
  Config config;
  double score = 0;
  /// False when the outcome says nothing about the config (its device was lost): it is not proposed again, and the
  /// model does not learn from it.
  bool counts = true;
};

/// A config to measure, and the model's score of it: higher is faster; nothing when the searcher has no model.
struct Proposal {
  Config config;
  std::optional<float> predicted;
  bool operator==(const Proposal&) const = default;
};

/// The same space, seed and reports, in the same order, give the same proposals.
class Searcher {
 public:
  virtual ~Searcher() = default;

  /// At most `n` valid configs that were neither proposed nor reported before; none when the space is exhausted.
  virtual std::vector<Proposal> propose(size_t n) = 0;
  /// Reports outcomes of configs, proposed here or not (earlier sessions, the default).
  virtual void report(const std::vector<Observation>& outcomes) = 0;
};

struct SearchOptions {
  uint64_t seed = 0;
  double random_share = 0.1;  ///< share of random configs in each batch, for guided searchers
  /// How many configs guided searchers score for each one that they propose: at 450 us each (3x3 convolutions, six
  /// stages) this is 6 ms a trial.
  int looked_at_per_proposal = 14;
  /// Valid configs to propose before any other: those known to be good elsewhere.
  std::vector<Config> seeds;
};

/// The names that --search takes, the default first.
const std::vector<std::string_view>& searcher_names();

/// `space` and `ranker` outlive the searcher; only `xgb` and `anneal` use the ranker, which may be null for the others.
/// An unknown name is an error that lists the known ones.
StatusOr<std::unique_ptr<Searcher>> make_searcher(std::string_view name, const Space& space, Ranker* ranker,
                                                  const SearchOptions& options);

std::unique_ptr<Searcher> make_random_searcher(const Space& space, const SearchOptions& options);
std::unique_ptr<Searcher> make_grid_searcher(const Space& space);
std::unique_ptr<Searcher> make_evolve_searcher(const Space& space, Ranker& ranker, const SearchOptions& options);
std::unique_ptr<Searcher> make_anneal_searcher(const Space& space, Ranker& ranker, const SearchOptions& options);
std::unique_ptr<Searcher> make_genetic_searcher(const Space& space, const SearchOptions& options);

}  // namespace hone
