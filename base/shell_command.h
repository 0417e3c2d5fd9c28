// Command lines for people to type: the printed text can be copied into a shell as it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

/// `--flag value` of two words of a shell; `--flag=value` where the value looks like a flag.
std::string shell_option(const std::string& flag, const std::string& value);

/// Made word by word. tests/e2e/printed has a case for each place that makes one, and runs what was printed.
class ShellCommand {
 public:
  /// `program`: as it is found in PATH, a subcommand behind a blank (`tophub stats`).
  explicit ShellCommand(std::string_view program) : text_(program) {}

  ShellCommand& word(const std::string& text);
  /// A shell_option(); nothing where the value is empty.
  ShellCommand& option(const std::string& flag, const std::string& value);
  /// The same for each of `values`.
  ShellCommand& options(const std::string& flag, const std::vector<std::string>& values);
  /// The flag alone, if `given`.
  ShellCommand& flag(const std::string& flag, bool given = true);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace hone
