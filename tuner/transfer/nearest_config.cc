#include "tuner/transfer/nearest_config.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <set>

namespace hone {
namespace {

constexpr int kMostTried = 400;

// The choices of one knob, those nearest to the wish first.
struct Ranked {
  size_t knob;
  std::vector<std::pair<double, int32_t>> choices;  // distance, choice
};

double distance(const std::vector<int64_t>& choice, KnobKind kind, const Wish& wish) {
  const size_t first = kind == KnobKind::kSplit ? 1 : 0;
  double sum = 0;
  for (size_t i = 0; i < wish.wanted.size() && first + i < choice.size(); ++i)
    sum += std::fabs(std::log2(1.0 + static_cast<double>(choice[first + i])) -
                     std::log2(1.0 + static_cast<double>(wish.wanted[i])));
  return sum;
}

std::optional<Ranked> rank(const Space& space, const Wish& wish) {
  for (size_t k = 0; k < space.knobs().size(); ++k) {
    const Knob& knob = space.knobs()[k];
    if (knob.name != wish.knob) continue;
    Ranked out{k, {}};
    for (size_t c = 0; c < knob.choices.size(); ++c) {
      const double apart = distance(knob.choices[c], knob.kind, wish);
      if (apart == 0 || std::isfinite(wish.weight))
        out.choices.emplace_back(apart == 0 ? 0 : apart * wish.weight, static_cast<int32_t>(c));
    }
    std::sort(out.choices.begin(), out.choices.end());
    return out;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Config> nearest_config(const Space& space, const std::vector<Wish>& wishes) {
  std::vector<Ranked> knobs;
  for (const Wish& wish : wishes) {
    std::optional<Ranked> ranked = rank(space, wish);
    if (!ranked && !std::isfinite(wish.weight)) return std::nullopt;
    if (!ranked) continue;
    if (ranked->choices.empty()) return std::nullopt;
    knobs.push_back(std::move(*ranked));
  }
  // Combinations by growing distance: a node has a rank for each knob; each of its successors takes the next choice of
  // one knob.
  using Node = std::pair<double, std::vector<size_t>>;
  std::priority_queue<Node, std::vector<Node>, std::greater<>> queue;
  std::set<std::vector<size_t>> met;
  const auto meet = [&](std::vector<size_t> ranks) {
    if (!met.insert(ranks).second) return;
    double sum = 0;
    for (size_t i = 0; i < knobs.size(); ++i) sum += knobs[i].choices[ranks[i]].first;
    queue.emplace(sum, std::move(ranks));
  };
  meet(std::vector<size_t>(knobs.size(), 0));
  for (int tried = 0; tried < kMostTried && !queue.empty(); ++tried) {
    const std::vector<size_t> ranks = queue.top().second;
    queue.pop();
    Config config = space.default_config();
    for (size_t i = 0; i < knobs.size(); ++i) config.choices[knobs[i].knob] = knobs[i].choices[ranks[i]].second;
    config = space.canonical(config);
    if (space.valid(config)) return config;
    for (size_t i = 0; i < knobs.size(); ++i) {
      if (ranks[i] + 1 >= knobs[i].choices.size()) continue;
      std::vector<size_t> next = ranks;
      ++next[i];
      meet(std::move(next));
    }
  }
  return std::nullopt;
}

}  // namespace hone
