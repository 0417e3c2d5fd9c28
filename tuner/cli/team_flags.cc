#include "tuner/cli/team_flags.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/exit_code.h"
#include "db/chain/answer_cache.h"
#include "db/chain/remote_source.h"
#include "rpc/hub/hub_client.h"
#include "rpc/wire/access/credential_flags.h"
#include "rpc/wire/access/fleet_file.h"

namespace hone {
namespace {

std::string url_of_environment() {
  const char* url = std::getenv(kTophubVariable);
  return url ? url : "";
}

// A name that no row can have would be trusted in vain, and silently.
Status check_tenants(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const size_t blank = name.find(' ');
    const std::string role = name.substr(0, blank);
    if ((role != "tuner" && role != "admin") || blank == std::string::npos || blank + 1 == name.size())
      return usage_error(
          fmt::format("--trust-tenant '{}': expected role and name, as rows show them: \"tuner bob\"", name));
  }
  return absl::OkStatus();
}

}  // namespace

bool TeamFlags::is_given() const { return !url.value_or(url_of_environment()).empty(); }

void add_team_flags(CommandLine& line, TeamFlags& f) {
  line.add_option_function(
          "--tophub", [&f](const std::string& url) { f.url = url; },
          "share what is found with a team: a service of `tophub serve`, which is read behind the user's tophub and "
          "told what is confirmed here; default: the fleet file's")
      .option_text("URL (or HONE_TOPHUB)");
  line.add_option("--trust-tenant", f.trusted,
                  "take rows of this tenant of --tophub as those of one's own (\"tuner bob\"); may be given again")
      .one_value_each()
      .type_name("NAME");
}

void add_team_access_flags(CommandLine& line, TeamFlags& f) {
  add_team_flags(line, f);
  wire::add_credential_flags(line, f.credentials);
  line.add_flag("--insecure", f.insecure, "allow a service on another host without encryption or authentication");
}

StatusOr<Team> open_team(const TeamFlags& f, const wire::CredentialFiles& files, bool insecure) {
  HONE_RETURN_IF_ERROR(check_tenants(f.trusted));
  std::string url = f.url.value_or(url_of_environment()), token;
  if (!files.fleet.empty() && !(f.url && f.url->empty())) {
    auto fleet = wire::load_fleet_file(files.fleet);
    if (!fleet.ok()) return usage_error("--fleet " + message_of(fleet.status()));
    if (url.empty()) url = fleet->tophub;
    token = fleet->credentials.token;
  }
  if (url.empty()) {
    if (!f.trusted.empty()) return usage_error("--trust-tenant is about a team's tophub: give --tophub too");
    return Team{};
  }
  if (!files.token.empty()) {
    HONE_ASSIGN_OR_RETURN(const wire::Credentials own, wire::load_credentials({.token = files.token}));
    token = own.token;
  }
  Team team;
  HONE_ASSIGN_OR_RETURN(team.hub, hub::open_hub(url, files, insecure));
  db::RemoteSourceOptions options;
  options.cache_path = db::remote_cache_path(db::answer_cache_folder(), team.hub->name(), token);
  options.trusted = f.trusted;
  HONE_ASSIGN_OR_RETURN(options.ask_again_ms, db::ask_again_from(std::getenv("HONE_TOPHUB_REFRESH")));
  team.source = db::remote_source(team.hub, std::move(options));
  return team;
}

}  // namespace hone
