#include "tuner/search/searcher.h"

#include <fmt/format.h>

#include "base/check.h"

namespace hone {

const std::vector<std::string_view>& searcher_names() {
  static const std::vector<std::string_view> names{"xgb", "random", "grid", "anneal", "genetic"};
  return names;
}

StatusOr<std::unique_ptr<Searcher>> make_searcher(std::string_view name, const Space& space, Ranker* ranker,
                                                  const SearchOptions& options) {
  if (name == "random") return make_random_searcher(space, options);
  if (name == "grid") return make_grid_searcher(space);
  if (name == "genetic") return make_genetic_searcher(space, options);
  if (name == "xgb" || name == "anneal") {
    HONE_ICHECK(ranker) << "searcher '" << name << "' needs a ranker";
    return name == "xgb" ? make_evolve_searcher(space, *ranker, options)
                         : make_anneal_searcher(space, *ranker, options);
  }
  return absl::InvalidArgumentError(
      fmt::format("--search: unknown searcher '{}'; known: {}", name, fmt::join(searcher_names(), ", ")));
}

}  // namespace hone
