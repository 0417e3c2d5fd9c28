#include "tuner/cli/tensorc_fleet.h"

#include "base/exit_code.h"
#include "tuner/cli/fleet_flags.h"
#include "tuner/cli/team_flags.h"
#include "tuner/driver/fleet_device.h"

namespace hone {

struct TensorcFleet::Flags {
  TuneRequest request;
  TeamFlags team;
};

TensorcFleet::TensorcFleet(CommandLine& line) : flags_(std::make_unique<Flags>()) {
  add_fleet_flags(
      line, flags_->request,
      "check, bench and profile on a device of this tracker, HOST:PORT or unix:PATH; a model layer by layer");
  add_team_flags(line, flags_->team);
}
TensorcFleet::~TensorcFleet() = default;

Status TensorcFleet::apply(TensorcOptions& o) const {
  TuneRequest& fleet = flags_->request;
  o.read_before = credential_files(fleet);
  HONE_ASSIGN_OR_RETURN(const Team team, open_team(flags_->team, fleet.credentials, fleet.insecure));
  o.team = team.source;
  if (!(fleet.tracker + fleet.credentials.fleet).empty()) {
    o.remote = [&fleet](const std::string& target, int threads) {
      fleet.target = target, fleet.threads = threads;
      return find_fleet_device(fleet);
    };
  } else if (const auto& c = fleet.credentials; !fleet.device.empty() || !fleet.labels.empty() ||
                                                (!team.hub && !(c.ca + c.certificate + c.key + c.token).empty())) {
    return usage_error(
        "--device, --label, --tls-* and --token-file are of a fleet: give --fleet or --tracker too, or --tophub for "
        "its "
        "credentials");
  }
  return absl::OkStatus();
}

}  // namespace hone
