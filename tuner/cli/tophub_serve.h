// `tophub serve`: a team's tophub as a service.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>

#include "base/command_line.h"
#include "base/status.h"
#include "db/record_lines.h"
#include "rpc/gate/server_tls.h"

namespace hone {

struct TophubServeFlags {
  std::string listen = "127.0.0.1:9200";
  std::string store;                    ///< a file; empty: team.db beside the user's tophub
  std::string postgres, postgres_file;  ///< a URL, or the file that holds it; else $HONE_POSTGRES
  gate::ServerTls tls;
  std::string token_file;
  size_t workers = 4;
  bool insecure = false, exit_with_parent = false, log_json = false;
};

void add_tophub_serve_flags(CommandLine& line, TophubServeFlags& flags);

/// Serves until SIGTERM or SIGINT, then answers what was asked before. Says on `out` where, and how it is used.
Status serve_tophub(const TophubServeFlags& flags, const db::PriorCheck& check_prior, std::ostream& out);

}  // namespace hone
