// Pictures of the table of rooms, and the part of docs/architecture.md that shows them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/layering/floors.h"

namespace hone::layering {

/// An SVG of the boxes, the highest floor on top, with a line down from each to what it includes. Names are given
/// without `prefix`; below each is what it has inside.
std::string picture(const std::vector<Box>& boxes, std::string_view prefix);

/// `text`, a page, with what stands between the two markers replaced by the pictures' images and descriptions. Throws
/// std::runtime_error if it has no markers.
std::string page_with_pictures(std::string_view text);

}  // namespace hone::layering
