#include "base/text.h"

#include <algorithm>

namespace hone {
namespace {

unsigned char byte_at(std::string_view s, size_t i) { return static_cast<unsigned char>(s[i]); }

// Length of the valid UTF-8 sequence at the start of `s`, 0 when there is none (overlong forms and surrogates are
// none).
size_t utf8_length(std::string_view s) {
  const auto byte = [&](size_t i) { return byte_at(s, i); };
  const auto follows = [&](size_t i) { return i < s.size() && (byte(i) & 0xc0) == 0x80; };
  const unsigned char b = byte(0);
  if (b < 0x80) return 1;
  if (b >= 0xc2 && b <= 0xdf) return follows(1) ? 2 : 0;
  if (b >= 0xe0 && b <= 0xef) {
    if (!follows(1) || !follows(2)) return 0;
    if ((b == 0xe0 && byte(1) < 0xa0) || (b == 0xed && byte(1) > 0x9f)) return 0;
    return 3;
  }
  if (b >= 0xf0 && b <= 0xf4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if ((b == 0xf0 && byte(1) < 0x90) || (b == 0xf4 && byte(1) > 0x8f)) return 0;
    return 4;
  }
  return 0;
}

bool begins_with_control(std::string_view s) {
  const unsigned char b = byte_at(s, 0);
  return b < 0x20 || b == 0x7f || (b == 0xc2 && s.size() > 1 && byte_at(s, 1) >= 0x80 && byte_at(s, 1) < 0xa0);
}

// `kept`: control characters that stay.
std::string cleaned(std::string_view text, size_t most, std::string_view kept) {
  std::string out;
  out.reserve(std::min(text.size(), most));
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (out.size() + std::max<size_t>(length, 1) > most) break;
    if (length == 0)
      out += '?';
    else if (begins_with_control(text) && kept.find(text[0]) == std::string_view::npos)
      out += ' ';
    else
      out.append(text.substr(0, length));
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

}  // namespace

bool has_controls(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(1))
    if (begins_with_control(text)) return true;
  return false;
}

std::string clean_line(std::string_view text, size_t most) { return cleaned(text, most, ""); }

std::string short_line(std::string_view text, size_t most) {
  return text.size() <= most ? clean_line(text) : clean_line(text, most) + "…";
}

std::string clean_lines(std::string_view text) { return cleaned(text, std::string_view::npos, "\n\t"); }

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t length = 0; !text.empty(); text.remove_prefix(std::max<size_t>(length, 1))) {
    length = utf8_length(text);
    out += length > 0 ? text.substr(0, length) : "?";
  }
  return out;
}

}  // namespace hone
