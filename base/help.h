// The output of --help: one screen with an example first and the flags that most people want in groups; `--help all`
// has every flag with its whole text.
#pragma once

#include <string>
#include <vector>

namespace hone {

class CommandLine;

inline constexpr size_t kHelpLines = 30, kHelpColumns = 100;

struct HelpLine {
  std::string flag;  ///< as it is typed, with its value: `--bind NAME=N`, `-o FILE`; of an example: a command
  std::string says;  ///< some words; for an example: its effect
};
struct HelpGroup {
  std::string title;
  std::vector<HelpLine> lines;
  std::vector<std::string> others;  ///< names of flags of this group that `--help all` alone shows
};
struct Help {
  std::string does;                     ///< the program's purpose, in a line
  std::string details = {};             ///< for `--help all`: further facts
  std::vector<HelpLine> examples = {};  ///< the most usual one first
  std::vector<HelpGroup> groups = {};
  bool wants_words = false;  ///< called without any, the program says how it is called, and that this is bad usage
};

/// Gives `line`, whose flags are all there, this help. Those that no group names are in `--help all`, below the others.
/// InternalError for one that there is not.
void set_help(CommandLine& line, Help help);

/// At most ten lines on how the program is called, where it wants words and has got none; else empty.
std::string bare_help(const CommandLine& line, int argc);
/// The help that `words` ask for with `--help all` (also behind a subcommand); empty when they do not.
std::string asked_help(CommandLine& line, const std::vector<std::string>& words);
/// Texts of every flag are wrapped at the screen's edge.
void wrap_help(CommandLine& line);

}  // namespace hone
