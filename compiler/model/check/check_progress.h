// How far a check of a model is.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

namespace hone {

struct CheckStep {
  std::string_view what;  ///< `layers on the model's inputs`
  size_t done = 0, all = 0;
  /// The most seconds that the rest may take, without the step that is under way; nothing: not known.
  std::optional<double> most_seconds_left = std::nullopt;
};

/// Called at the begin of each step, perhaps repeatedly; may be empty. An exception that it throws ends the check.
using CheckProgress = std::function<void(const CheckStep&)>;

}  // namespace hone
