// A team's tophub where Hone is built without a fleet: stands for team_flags.cc.
#include <cstdlib>

#include "base/exit_code.h"
#include "tuner/cli/team_flags.h"

namespace hone {

bool TeamFlags::is_given() const { return url && !url->empty(); }

void add_team_flags(CommandLine& line, TeamFlags& f) {
  line.add_option_function(
          "--tophub", [&f](const std::string& url) { f.url = url; }, "")
      .hide();
  line.add_option("--trust-tenant", f.trusted).one_value_each().hide();
}

void add_team_access_flags(CommandLine& line, TeamFlags& f) {
  add_team_flags(line, f);
  line.add_option("--fleet", f.credentials.fleet).hide();
  line.add_option("--tls-ca", f.credentials.ca).hide();
  line.add_option("--tls-cert", f.credentials.certificate).hide();
  line.add_option("--tls-key", f.credentials.key).hide();
  line.add_option("--token-file", f.credentials.token).hide();
  line.add_flag("--insecure", f.insecure).hide();
}

StatusOr<Team> open_team(const TeamFlags& f, const wire::CredentialFiles&, bool) {
  if (f.is_given() || !f.trusted.empty())
    return usage_error(
        "--tophub: this Hone was built without a fleet (HONE_WITH_FLEET=OFF); its lookups are in files: --db, the "
        "user's tophub and packages");
  return Team{};
}

}  // namespace hone
