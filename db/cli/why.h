// `tophub why`: every row that a build comes across for a workload, and its fate; `tophub sync`: what waits for a team.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/status.h"
#include "db/cli/commands.h"
#include "db/lookup.h"

namespace hone::db {

/// Prints the candidates in the order of the chain: a JSON object a line, or lines for people.
void print_candidates(const std::vector<Candidate>& candidates, const std::string& workload, const std::string& target,
                      const CompilerHooks& hooks, bool json, std::ostream& out);

/// Sends what waits in the database's outbox for the hub; `all`: everything that its sessions confirmed. Errors: of the
/// database, and Unavailable where rows still wait, with why.
Status sync_with_team(const std::string& db, bool all, RemoteHub& hub, bool json, std::ostream& out);

}  // namespace hone::db
