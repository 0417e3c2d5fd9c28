// The valid config of a space that is nearest to what somebody wishes for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/space.h"

namespace hone {

/// A choice that is wanted of a knob.
struct Wish {
  std::string knob;
  std::vector<int64_t> wanted;  ///< one number, or the inner parts of a split, outermost of them first
  /// How much a factor of two beside it costs; infinite: no other choice will do.
  double weight = 1;
};

/// The valid config whose wished-for choices are nearest to the wishes (weighted sum of |log2| of the
/// ratios) and whose other knobs are at their default. Knobs that the space does not have are passed over. Nothing when
/// an exact wish cannot be fulfilled, or none of the nearest few hundred combinations is valid.
std::optional<Config> nearest_config(const Space& space, const std::vector<Wish>& wishes);

}  // namespace hone
