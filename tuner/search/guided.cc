#include "tuner/search/guided.h"

namespace hone {
namespace {

// The share of neighbours of the best in a batch: it grows with the time that the best has stood.
constexpr double kNeighbours = 0.25, kNeighboursWhenStuck = 0.5;
constexpr size_t kStuck = 64;
constexpr size_t kDescendFrom = 2;

}  // namespace

void GuidedSearcher::take(Config c, std::optional<float> predicted, std::vector<Proposal>* out) {
  seen_.add(c);
  out->push_back({std::move(c), predicted});
}

void GuidedSearcher::sort_by_score(std::vector<Scored>& configs) {
  std::stable_sort(configs.begin(), configs.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
}

void GuidedSearcher::take_apart(const std::vector<Scored>& found, size_t n, std::vector<Proposal>* out) {
  const size_t full = out->size() + n;
  // Two passes: the first takes only configs that differ from those taken in more than one knob, so that a batch is not
  // one config with its neighbours.
  for (const int apart : {2, 1})
    for (const Scored& s : found) {
      if (out->size() >= full) return;
      if (!std::isfinite(s.score) || seen_.has(s.config)) continue;
      const bool close = std::any_of(out->begin(), out->end(),
                                     [&](const Proposal& p) { return distance(p.config, s.config) < apart; });
      if (!close) take(s.config, s.score, out);
    }
}

std::vector<GuidedSearcher::Scored> GuidedSearcher::neighbours_of_best() {
  std::vector<Config> configs;
  Seen met(space_);
  for (const Config& c : elite(kDescendFrom))
    for (Config& n : neighbours(space_, c))
      if (!seen_.has(n) && met.add(n)) configs.push_back(std::move(n));
  const std::vector<float> scores = ranker_.score(configs);
  std::vector<Scored> out;
  for (size_t i = 0; i < configs.size(); ++i) out.push_back({std::move(configs[i]), scores[i]});
  sort_by_score(out);
  return out;
}

// The number of random configs of a batch: whole ones of a share that adds up over batches.
size_t GuidedSearcher::random_count(size_t n) {
  random_owed_ += options_.random_share * static_cast<double>(n);
  const size_t whole = std::min(n, static_cast<size_t>(random_owed_));
  random_owed_ -= static_cast<double>(whole);
  return whole;
}

std::vector<Proposal> GuidedSearcher::propose(size_t n) {
  std::vector<Proposal> out;
  for (; out.size() < n && !seeds_.empty(); seeds_.pop_front())
    if (!seen_.has(seeds_.front()) && space_.valid(seeds_.front())) take(seeds_.front(), std::nullopt, &out);
  if (out.size() < n && ranker_.ready()) {
    const size_t seeds = out.size(), guided = n - seeds - random_count(n - seeds);
    // Without a measurement there are no neighbours.
    if (!measured_.empty())
      take_apart(neighbours_of_best(),
                 static_cast<size_t>((since_gain_ < kStuck ? kNeighbours : kNeighboursWhenStuck) *
                                     static_cast<double>(guided)),
                 &out);
    const size_t rest = guided - std::min(guided, out.size() - seeds);
    if (rest > 0) take_apart(explore(rest * static_cast<size_t>(options_.looked_at_per_proposal)), rest, &out);
  }
  while (out.size() < n) {
    auto c = random_unseen(space_, seen_, rng_);
    if (!c) break;
    take(std::move(*c), std::nullopt, &out);
  }
  return out;
}

void GuidedSearcher::report(const std::vector<Observation>& outcomes) {
  std::vector<Config> configs;
  std::vector<double> speeds;
  for (const Observation& o : outcomes) {
    seen_.add(o.config);
    if (!o.counts) continue;
    configs.push_back(o.config);
    speeds.push_back(o.score);
    ++since_gain_;
    if (o.score > 0 && (measured_.empty() || o.score > measured_.front().score)) since_gain_ = 0;
    if (o.score > 0)
      measured_.insert(std::upper_bound(measured_.begin(), measured_.end(), o,
                                        [](const Observation& a, const Observation& b) { return a.score > b.score; }),
                       o);
  }
  if (measured_.size() > 256) measured_.resize(256);
  if (!configs.empty()) ranker_.learn(configs, speeds);
}

std::vector<Config> GuidedSearcher::elite(size_t n) const {
  std::vector<Config> out;
  for (size_t i = 0; i < measured_.size() && i < n; ++i) out.push_back(measured_[i].config);
  return out;
}

std::optional<Config> GuidedSearcher::valid_mutant(const Config& from) {
  for (int t = 0; t < 20; ++t) {
    Config c = mutate(space_, from, rng_);
    if (space_.valid(c)) return c;
  }
  return std::nullopt;
}

}  // namespace hone
