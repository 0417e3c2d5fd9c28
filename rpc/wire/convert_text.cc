// Text that crosses the wire: protobuf's strings must be UTF-8, and ours are one line.
#include "rpc/wire/convert.h"

namespace hone::wire {
namespace {

// Length of the valid UTF-8 sequence at the start of `s`, 0 when there is none (overlong forms and surrogates are none).
size_t utf8_length(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
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

}  // namespace

std::string clean_line(std::string_view text, size_t most) {
  std::string out;
  out.reserve(std::min(text.size(), most));
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (out.size() + std::max<size_t>(length, 1) > most) break;
    if (length == 0)
      out += '?';
    else if (length == 1 && static_cast<unsigned char>(text[0]) < 0x20)
      out += ' ';
    else
      out.append(text.substr(0, length));
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

}  // namespace hone::wire
