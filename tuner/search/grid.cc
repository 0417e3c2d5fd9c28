// Grid search: the valid configs in the space's order.
#include "tuner/search/moves.h"
#include "tuner/search/searcher.h"

namespace hone {
namespace {

class GridSearcher final : public Searcher {
 public:
  explicit GridSearcher(const Space& space) : space_(space), seen_(space) {}

  std::vector<Proposal> propose(size_t n) override {
    std::vector<Proposal> out;
    while (out.size() < n) {
      auto c = space_.next_valid(&next_);
      if (!c) break;
      if (seen_.add(*c)) out.push_back({std::move(*c), std::nullopt});
    }
    return out;
  }
  void report(const std::vector<Observation>& outcomes) override {
    for (const Observation& o : outcomes) seen_.add(o.config);
  }

 private:
  const Space& space_;
  Seen seen_;
  ConfigIndex next_ = 0;
};

}  // namespace

std::unique_ptr<Searcher> make_grid_searcher(const Space& space) { return std::make_unique<GridSearcher>(space); }

}  // namespace hone
