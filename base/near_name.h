// Names that were meant: of a flag, a command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

/// The name of `known` that `given` becomes with the fewest letters put in, left out, changed, or swapped with the
/// next; the first of several. Empty where that takes more than a third of its letters (one letter of the shortest), or
/// all of them, and for a text longer than any name (64 bytes).
std::string near_name(std::string_view given, const std::vector<std::string>& known);

/// For an error about `given`: `; did you mean conv2d?`, or nothing where no name is near.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& known);

}  // namespace hone
