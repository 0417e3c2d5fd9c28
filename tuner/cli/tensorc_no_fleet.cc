// tensorc where Hone is built without a fleet: stands for tensorc_fleet.cc.
#include <string>
#include <utility>
#include <vector>

#include "base/exit_code.h"
#include "tuner/cli/team_flags.h"
#include "tuner/cli/tensorc_fleet.h"

namespace hone {

struct TensorcFleet::Flags {
  std::vector<std::pair<std::string, std::vector<std::string>>> given;  ///< a flag, and its values
  bool insecure = false;
  TeamFlags team;
};

TensorcFleet::TensorcFleet(CommandLine& line) : flags_(std::make_unique<Flags>()) {
  for (const char* name :
       {"--fleet", "--tracker", "--device", "--label", "--tls-ca", "--tls-cert", "--tls-key", "--token-file"})
    flags_->given.emplace_back(name, std::vector<std::string>());
  for (auto& [name, values] : flags_->given) line.add_option(name, values).one_value_each().hide();  // not in the help
  line.add_flag("--insecure", flags_->insecure).hide();
  add_team_flags(line, flags_->team);
}
TensorcFleet::~TensorcFleet() = default;

Status TensorcFleet::apply(TensorcOptions&) const {
  for (const auto& [name, values] : flags_->given)
    if (!values.empty())
      return usage_error(name +
                         ": this tensorc was built without a fleet (HONE_WITH_FLEET=OFF); it checks and times on "
                         "this machine");
  return open_team(flags_->team, {}, false).status();
}

}  // namespace hone
