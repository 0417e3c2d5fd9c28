#include "base/shell_command.h"

#include "base/shell_word.h"

namespace hone {

std::string shell_option(const std::string& flag, const std::string& value) {
  return value.starts_with('-') ? shell_quoted(flag + "=" + value) : flag + " " + shell_quoted(value);
}

ShellCommand& ShellCommand::word(const std::string& text) {
  text_ += " " + shell_quoted(text);
  return *this;
}

ShellCommand& ShellCommand::option(const std::string& flag, const std::string& value) {
  if (!value.empty()) text_ += " " + shell_option(flag, value);
  return *this;
}

ShellCommand& ShellCommand::options(const std::string& flag, const std::vector<std::string>& values) {
  for (const std::string& value : values) option(flag, value);
  return *this;
}

ShellCommand& ShellCommand::flag(const std::string& flag, bool given) { return given ? word(flag) : *this; }

}  // namespace hone
