#include "base/version/version.h"

#include <fmt/format.h>

#include "base/version/commit.h"

namespace hone {

std::string version_line(const std::string& program, const std::string& more) {
  return fmt::format("{} {} (commit {}){}{}", program, HONE_VERSION, built_commit(), more.empty() ? "" : ", ", more);
}

void add_version(CLI::App& app, const std::function<std::string()>& more) {
  app.set_version_flag(
      "--version", [name = app.get_name(), more] { return version_line(name, more ? more() : ""); },
      "print the version, the commit and what else tells builds apart");
}

}  // namespace hone
