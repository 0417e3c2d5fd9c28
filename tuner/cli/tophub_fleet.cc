#include "tuner/cli/tophub_fleet.h"

#include <memory>
#include <ostream>

#include "base/exit_code.h"
#include "tuner/cli/tophub_serve.h"

namespace hone {

void add_fleet_commands(db::CompilerHooks& hooks) {
  const auto flags = std::make_shared<TophubServeFlags>();
  hooks.commands.push_back(
      {"serve",
       "Example: tophub serve --listen 127.0.0.1:9200\nShare a tophub with a team: a service that builds ask and "
       "tuners tell.",
       [flags](CommandLine& line) { add_tophub_serve_flags(line, *flags); },
       [flags, check_prior = hooks.check_prior](const std::string& db, std::ostream& out) -> Status {
         if (!db.empty())
           return usage_error(
               "serve: --db names a person's tophub; the service has a file of its own (--store), which `tophub sync "
               "--all --tophub URL` fills");
         return serve_tophub(*flags, check_prior, out);
       }});
}

}  // namespace hone
