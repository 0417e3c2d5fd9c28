// A team's tophub for tensorc, tuner, tophub and libhone: the flags that name it, and the client.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/status.h"
#include "db/chain/source.h"
#include "db/team/remote_hub.h"
#include "rpc/wire/access/credentials.h"

namespace hone {

/// A URL that this variable names is as if --tophub named it; `--tophub ''`: none.
inline constexpr char kTophubVariable[] = "HONE_TOPHUB";

struct TeamFlags {
  std::optional<std::string> url;  ///< given; null: what the environment and the fleet file say
  std::vector<std::string> trusted;
  /// Used by command lines that have them for nothing else: add_team_access_flags().
  wire::CredentialFiles credentials;
  bool insecure = false;

  /// Whether a URL was given, in the line or by the environment.
  bool is_given() const;
};

/// --tophub and --trust-tenant, of `f`, which outlives `line`. Where Hone is built without a fleet
/// (HONE_WITH_FLEET=OFF) they are hidden, and open_team() refuses what they say in one line.
void add_team_flags(CommandLine& line, TeamFlags& f);
/// The same, with --fleet, the other credentials and --insecure.
void add_team_access_flags(CommandLine& line, TeamFlags& f);

struct Team {
  std::shared_ptr<db::RemoteHub> hub;  ///< null: there is none
  std::shared_ptr<db::Source> source;  ///< the same, for lookups, with its cache; null: there is none
};

/// The tophub that the flags name, else the environment, else the fleet file's. Nothing is asked of it yet. Usage
/// errors of the URL and of the files with credentials.
StatusOr<Team> open_team(const TeamFlags& f, const wire::CredentialFiles& credentials, bool insecure);

}  // namespace hone
