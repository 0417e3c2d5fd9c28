#include "tuner/search/moves.h"

#include <algorithm>

namespace hone {

std::optional<Config> random_unseen(const Space& space, const Seen& seen, std::mt19937_64& rng) {
  if (space.size() > 4 * static_cast<ConfigIndex>(seen.size()))
    for (int t = 0; t < 64; ++t) {
      auto c = space.sample(rng, 500);
      if (!c) break;
      if (!seen.has(*c)) return c;
    }
  // Few configs are left, or valid ones are hard to hit: enumerates from a random place to the end, then from the
  // beginning.
  const ConfigIndex high = rng();
  ConfigIndex at = (high << 64 | rng()) % space.size();
  // next_valid() also gives nothing when none of the configs it looked at was valid: the end is reached only behind the
  // last config.
  for (int turn = 0; turn < 2; ++turn, at = 0)
    while (at < space.size())
      if (auto c = space.next_valid(&at, 500'000); c && !seen.has(*c)) return c;
  return std::nullopt;
}

Config mutate(const Space& space, const Config& from, std::mt19937_64& rng) {
  std::vector<size_t> free = space.knobs_at_work(from);
  std::erase_if(free, [&](size_t k) { return space.knobs()[k].choices.size() == 1; });
  Config c = from;
  if (free.empty()) return c;
  const int changes = below(rng, 3) == 0 ? 2 : 1;
  for (int i = 0; i < changes; ++i) {
    const size_t k = free[below(rng, free.size())];
    const int n = static_cast<int>(space.knobs()[k].choices.size());
    const int old = c.choices[k];
    if (below(rng, 2) == 0) {
      c.choices[k] = std::clamp(old + (below(rng, 2) == 0 ? 1 : -1), 0, n - 1);
    } else {
      c.choices[k] = static_cast<int32_t>(below(rng, static_cast<size_t>(n)));
    }
    if (c.choices[k] == old) c.choices[k] = (old + 1) % n;
  }
  return space.canonical(std::move(c));
}

std::vector<Config> neighbours(const Space& space, const Config& from) {
  std::vector<Config> out;
  for (const size_t k : space.knobs_at_work(from))
    for (int32_t i = 0; i < static_cast<int32_t>(space.knobs()[k].choices.size()); ++i) {
      if (i == from.choices[k]) continue;
      Config c = from;
      c.choices[k] = i;
      c = space.canonical(std::move(c));
      if (space.valid(c)) out.push_back(std::move(c));
    }
  return out;
}

Config cross(const Space& space, const Config& a, const Config& b, std::mt19937_64& rng) {
  Config c = a;
  for (size_t k = 0; k < c.choices.size(); ++k)
    if (rng() & 1) c.choices[k] = b.choices[k];
  return space.canonical(std::move(c));
}

int distance(const Config& a, const Config& b) {
  int n = 0;
  for (size_t k = 0; k < a.choices.size(); ++k) n += a.choices[k] != b.choices[k];
  return n;
}

}  // namespace hone
