// Random search: valid configs, each equally likely.
#include "tuner/search/moves.h"
#include "tuner/search/searcher.h"

namespace hone {
namespace {

class RandomSearcher final : public Searcher {
 public:
  RandomSearcher(const Space& space, uint64_t seed) : space_(space), seen_(space), rng_(seed) {}

  std::vector<Proposal> propose(size_t n) override {
    std::vector<Proposal> out;
    while (out.size() < n) {
      auto c = random_unseen(space_, seen_, rng_);
      if (!c) break;
      seen_.add(*c);
      out.push_back({std::move(*c), std::nullopt});
    }
    return out;
  }
  void report(const std::vector<Observation>& outcomes) override {
    for (const Observation& o : outcomes) seen_.add(o.config);
  }

 private:
  const Space& space_;
  Seen seen_;
  std::mt19937_64 rng_;
};

}  // namespace

std::unique_ptr<Searcher> make_random_searcher(const Space& space, const SearchOptions& options) {
  return std::make_unique<RandomSearcher>(space, options.seed);
}

}  // namespace hone
