#include "base/exit_code.h"
#include "tuner/cli/tophub_fleet.h"

namespace hone {

void add_fleet_commands(db::CompilerHooks& hooks) {
  hooks.commands.push_back({"serve", "Not in this build, which has no fleet.", [](CommandLine&) {},
                            [](const std::string&, std::ostream&) {
                              return usage_error("serve: this program was built without a fleet (HONE_WITH_FLEET)");
                            }});
}

}  // namespace hone
