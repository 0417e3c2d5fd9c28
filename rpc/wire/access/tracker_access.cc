#include "rpc/wire/access/tracker_access.h"

#include <fmt/format.h>

#include <cstdlib>

#include "rpc/wire/access/fleet_file.h"

namespace hone::wire {
namespace {

StatusOr<Address> parse_tracker(const std::string& text) {
  auto address = Address::parse(text);
  if (!address.ok()) return absl::InvalidArgumentError(fmt::format("--tracker: {}", message_of(address.status())));
  return address;
}

// How people see where the file's name is from.
std::string named_by(const CredentialFiles& files) {
  const char* variable = std::getenv(kFleetVariable);
  return variable && files.fleet == variable ? std::string(kFleetVariable) + ":" : "--fleet";
}

}  // namespace

StatusOr<TrackerAccess> tracker_access(const std::string& tracker, const CredentialFiles& files, bool insecure) {
  TrackerAccess out;
  if (files.fleet.empty()) {
    HONE_ASSIGN_OR_RETURN(out.tracker, parse_tracker(tracker.empty() ? kUsualTracker : tracker));
  } else {
    auto fleet = load_fleet_file(files.fleet);
    if (!fleet.ok()) return absl::InvalidArgumentError(named_by(files) + " " + message_of(fleet.status()));
    out.tracker = fleet->trackers.front();
    if (!tracker.empty()) {
      HONE_ASSIGN_OR_RETURN(out.tracker, parse_tracker(tracker));
      // Whoever makes somebody type another address must not get a token by that.
      if (!fleet->names(out.tracker))
        return absl::InvalidArgumentError(fmt::format(
            "--tracker {}: the token and key of {} are only for {}; leave out --tracker, or the file (--fleet '' "
            "where HONE_FLEET names it)",
            out.tracker.text(), files.fleet, fleet->hosts_text()));
    }
    out.credentials = std::move(fleet->credentials);
    out.credentials.ca_from = out.credentials.certificate_from = "--fleet";
    if (fleet->role == "agent") out.agent = fleet->name;
  }
  HONE_ASSIGN_OR_RETURN(out.credentials, load_credentials(files, std::move(out.credentials)));
  HONE_RETURN_IF_ERROR(check_protected(out.tracker, out.credentials, insecure, "--tracker"));
  return out;
}

}  // namespace hone::wire
