// Text from elsewhere on its way to a terminal, a line or a file.
#pragma once

#include <string>
#include <string_view>

namespace hone {

/// Whether a control character (C0, DEL, or C1 as UTF-8) is in it: a terminal would obey it.
bool has_controls(std::string_view text);

/// `text` as one line of valid UTF-8 without control characters, of at most `most` bytes: a byte that is no UTF-8
/// becomes '?', a control character a blank.
std::string clean_line(std::string_view text, size_t most = std::string_view::npos);

/// clean_line(), with "…" in place of a part that was cut off.
std::string short_line(std::string_view text, size_t most);

/// clean_line() of several lines: line feeds and tabs stay.
std::string clean_lines(std::string_view text);

/// `text` with '?' in place of each byte that is no UTF-8, for who takes nothing else.
std::string valid_utf8(std::string_view text);

}  // namespace hone
