#include "base/json.h"

#include <fmt/format.h>

#include "base/text.h"

namespace hone {

std::string escape_controls(std::string json) {
  const auto byte = [&](size_t i) { return i < json.size() ? static_cast<unsigned char>(json[i]) : 0; };
  const auto length = [&](size_t i) { return byte(i) == 0x7f ? 1 : byte(i) == 0xc2 && byte(i + 1) < 0xa0 ? 2 : 0; };
  if (!has_controls(json)) return json;
  std::string out;
  for (size_t i = 0; i < json.size(); ++i) {
    if (const int n = length(i); n > 0) {
      i += static_cast<size_t>(n) - 1;
      out += fmt::format("\\u{:04x}", byte(i));
    } else {
      out += json[i];
    }
  }
  return out;
}

}  // namespace hone
