// The valid config of a space that is nearest to given wishes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/space.h"

namespace hone {

/// A wished-for choice of a knob.
struct Wish {
  std::string knob;
  std::vector<int64_t> wanted;  ///< one number, or the inner parts of a split, outermost first
  /// Cost of a factor of two away from it; infinite: no other choice will do.
  double weight = 1;
};

/// The valid config whose choices are nearest to the wishes (weighted sum of |log2| of the ratios) and whose other
/// knobs are at their defaults. Wishes for unknown knobs are ignored. Nothing when an exact wish cannot be fulfilled,
/// or none of the nearest few hundred combinations is valid.
std::optional<Config> nearest_config(const Space& space, const std::vector<Wish>& wishes);

}  // namespace hone
