// Commands that are printed for people to paste.
#pragma once

#include <string>

namespace hone {

/// `text` as a word of a shell: itself, or in quotes where a shell would read more into it.
std::string shell_quoted(const std::string& text);

}  // namespace hone
