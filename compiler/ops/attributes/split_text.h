// Attribute texts are lists: `1x64x56`, `bias+relu`, `u8:s8:s32:f32`.
#pragma once

#include <absl/strings/str_split.h>

#include <string>
#include <string_view>
#include <vector>

namespace hone {

/// The parts of `text` between `separator`s; at least one, empty ones included.
inline std::vector<std::string> split_text(std::string_view text, char separator) {
  return absl::StrSplit(std::string(text), separator);  // which takes no std::string_view everywhere
}

}  // namespace hone
