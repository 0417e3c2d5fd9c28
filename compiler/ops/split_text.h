// Attribute texts are lists: `1x64x56`, `bias+relu`, `u8:s8:s32:f32`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

/// The parts of `text` between `separator`s; at least one, empty ones included.
inline std::vector<std::string> split_text(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text = text.substr(at + 1);
  }
}

}  // namespace hone
