// How well predictions made before a batch was measured agree with what the measurement said.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>

namespace hone {

/// A candidate before and after: the model's score (higher: faster; nothing when the model was not asked) and its speed
/// (any unit that is the same for all; 0 when it failed).
struct Guess {
  std::optional<float> predicted;
  double speed = 0;
};

/// Times that differ by no more than this are equal as far as a measurement can tell.
inline constexpr double kEqualSpeeds = 0.05;

/// Share of the pairs whose speeds differ by more than `apart` that the prediction orders rightly; an equal prediction
/// is half right. Nothing when there is no such pair. Candidates without a score do not count, here and below.
std::optional<double> pairwise_accuracy(std::span<const Guess> guesses, double apart = kEqualSpeeds);

/// The best speed among the `k` best predicted, over the best speed of all: what measuring only those would have found.
/// Where equal predictions leave open who is among the k, the mean over all ways to choose. Nothing when nobody was
/// guessed, or all failed.
std::optional<double> peak_at(std::span<const Guess> guesses, size_t k);

struct Accuracy {
  std::optional<double> pairwise, peak1, peak5;
  bool operator==(const Accuracy&) const = default;
};
Accuracy accuracy_of(std::span<const Guess> guesses);

/// The mean over the latest batches; a batch that says nothing of a measure is left out of its mean.
class RecentAccuracy {
 public:
  explicit RecentAccuracy(size_t batches = 8) : most_(batches) {}
  void add(const Accuracy& batch);
  Accuracy mean() const;

 private:
  size_t most_;
  std::deque<Accuracy> latest_;
};

}  // namespace hone
