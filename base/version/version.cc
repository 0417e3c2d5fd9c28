#include "base/version/version.h"

#include <fmt/format.h>

#include "base/command_line.h"
#include "base/version/commit.h"

namespace hone {

std::string version_line(const std::string& program, const std::string& more) {
  return fmt::format("{} {} (commit {}){}{}", program, HONE_VERSION, built_commit(), more.empty() ? "" : ", ", more);
}

void add_version(CommandLine& line, const std::function<std::string()>& more) {
  line.add_version_flag(
      "--version", [name = line.name(), more] { return version_line(name, more ? more() : ""); },
      "print the version, the commit and what else tells builds apart");
}

}  // namespace hone
