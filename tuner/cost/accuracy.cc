#include "tuner/cost/accuracy.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hone {
namespace {

std::vector<Guess> guessed(std::span<const Guess> all) {
  std::vector<Guess> out;
  for (const Guess& g : all)
    if (g.predicted && !std::isnan(*g.predicted)) out.push_back(g);
  return out;
}

// The expected best of `n` of `speeds` (fastest first) chosen at random, and never below `floor`.
double mean_best(std::span<const double> speeds, size_t n, double floor) {
  const size_t all = speeds.size();
  double sum = 0, none_so_far = 1;  // the probability that none of those before i was chosen
  for (size_t i = 0; i + n <= all; ++i) {
    const double chosen = static_cast<double>(n) / static_cast<double>(all - i);  // given that none before was
    sum += none_so_far * chosen * std::max(floor, speeds[i]);
    none_so_far *= 1 - chosen;
  }
  return sum;
}

}  // namespace

std::optional<double> pairwise_accuracy(std::span<const Guess> guesses, double apart) {
  const std::vector<Guess> g = guessed(guesses);
  double right = 0;
  size_t pairs = 0;
  for (size_t i = 0; i < g.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Guess& fast = g[i].speed > g[j].speed ? g[i] : g[j];
      const Guess& slow = g[i].speed > g[j].speed ? g[j] : g[i];
      if (!(fast.speed > slow.speed * (1 + apart))) continue;
      ++pairs;
      right += *fast.predicted > *slow.predicted ? 1 : fast.predicted == slow.predicted ? 0.5 : 0;
    }
  return pairs > 0 ? std::optional(right / static_cast<double>(pairs)) : std::nullopt;
}

std::optional<double> peak_at(std::span<const Guess> guesses, size_t k) {
  std::vector<Guess> g = guessed(guesses);
  double best = 0;
  for (const Guess& x : g) best = std::max(best, x.speed);
  if (best <= 0 || k == 0) return std::nullopt;
  std::sort(g.begin(), g.end(), [](const Guess& a, const Guess& b) {
    return a.predicted != b.predicted ? *a.predicted > *b.predicted : a.speed > b.speed;
  });
  double found = 0;
  for (size_t i = 0; i < g.size() && k > 0;) {
    std::vector<double> equal;  // sorted by prediction
    for (; i < g.size() && (equal.empty() || g[i].predicted == g[i - 1].predicted); ++i) equal.push_back(g[i].speed);
    const size_t n = std::min(k, equal.size());
    found = mean_best(equal, n, found);
    k -= n;
  }
  return std::min(1.0, found / best);  // a mean may be off by a rounding
}

Accuracy accuracy_of(std::span<const Guess> guesses) {
  return {pairwise_accuracy(guesses), peak_at(guesses, 1), peak_at(guesses, 5)};
}

void RecentAccuracy::add(const Accuracy& batch) {
  latest_.push_back(batch);
  if (latest_.size() > most_) latest_.pop_front();
}

Accuracy RecentAccuracy::mean() const {
  Accuracy mean;
  for (std::optional<double> Accuracy::*of : {&Accuracy::pairwise, &Accuracy::peak1, &Accuracy::peak5}) {
    double sum = 0;
    size_t n = 0;
    for (const Accuracy& a : latest_)
      if (a.*of) sum += *(a.*of), ++n;
    if (n > 0) mean.*of = sum / static_cast<double>(n);
  }
  return mean;
}

}  // namespace hone
