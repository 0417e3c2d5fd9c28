// The text that --version prints. This is a library of its own, which only programs link: the commit changes with every
// commit, and nothing else is then linked anew.
#pragma once

#include <functional>
#include <string>

namespace hone {

class CommandLine;

/// `tensorc 1.2.3 (commit abc1234)`, or `(commit unknown)` if it was built neither in a work tree of git nor from an
/// archive of one; `more` stands behind a comma.
std::string version_line(const std::string& program, const std::string& more = "");

/// Gives `line`, which has its name, the flag --version. `more` gives the rest of that line; it is called only when the
/// flag was given.
void add_version(CommandLine& line, const std::function<std::string()>& more = nullptr);

}  // namespace hone
