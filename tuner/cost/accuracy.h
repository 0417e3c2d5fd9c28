// How well predictions made before a batch agree with its measurements.
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

/// Times that differ by no more than this count as equal.
inline constexpr double kEqualSpeeds = 0.05;

/// Share of the pairs whose speeds differ by more than `apart` that the prediction orders rightly; an equal prediction
/// is half right. Nothing when there is no such pair. Candidates without a score do not count, here and below.
std::optional<double> pairwise_accuracy(std::span<const Guess> guesses, double apart = kEqualSpeeds);

/// The best speed among the `k` best predicted, over the best speed of all: the share that measuring only those would
/// have reached. Where equal predictions leave open which are among the k, the mean over all choices. Nothing when
/// there was no prediction, or all candidates failed.
std::optional<double> peak_at(std::span<const Guess> guesses, size_t k);

struct Accuracy {
  std::optional<double> pairwise, peak1, peak5;
  bool operator==(const Accuracy&) const = default;
};
Accuracy accuracy_of(std::span<const Guess> guesses);

/// The mean over the latest batches; a batch without a value for a measure is left out of its mean.
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
