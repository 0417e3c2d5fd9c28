#include "tuner/driver/place.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/exit_code.h"
#include "base/key.h"
#include "compiler/codegen/llvm/machine/parse_target.h"
#include "rpc/wire/access/tracker_access.h"
#include "tuner/measure/remote.h"

namespace hone {
namespace {

using namespace std::chrono_literals;

}  // namespace

StatusOr<Place> find_place(const TuneRequest& f) {
  Place place;
  const std::string kind(target_kind(f.target));
  place.target = parse_target(f.target);  // a wrong target is reported before anything starts
  DeviceQuery query;
  if (f.tracker.empty() && f.credentials.fleet.empty()) {
    if (!f.device.empty()) return usage_error("--device names a device of a tracker: give --fleet or --tracker too");
    if (!f.labels.empty())
      return usage_error("--label chooses among the devices of a tracker: give --fleet or --tracker too");
    if (const auto& c = f.credentials; !f.has_hub_credentials && !(c.ca + c.certificate + c.key + c.token).empty())
      return usage_error(
          "--tls-ca, --tls-cert, --tls-key and --token-file are for a tracker: give --fleet or --tracker too");
    HONE_ASSIGN_OR_RETURN(place.own, Embedded::start(sibling_programs(), kind));
    place.client.tracker = place.own->address();
    place.client.backoff.first = 20ms;
    query.where = "on this machine";
    query.tracker_timeout = 20s;
    query.device_timeout = place.target.is_gpu() ? 60s : 20s;  // drivers may have to wake up their GPUs
    query.while_waiting = [&own = *place.own] { return own.check(); };
  } else {
    HONE_ASSIGN_OR_RETURN(wire::TrackerAccess access, wire::tracker_access(f.tracker, f.credentials, f.insecure));
    place.client.tracker = std::move(access.tracker);
    place.client.credentials = std::move(access.credentials);
  }
  place.client.seed = wire::Uuid::random().value[0];
  query.client = place.client;
  query.kind = kind;
  query.device_key = f.device;
  query.labels = f.labels;
  HONE_ASSIGN_OR_RETURN(std::vector<wire::DeviceInfo> devices, find_devices(query));
  std::sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  std::vector<std::string> offered;
  for (const wire::DeviceInfo& d : devices) {
    const Target theirs = Target::parse(d.target);
    Target ours = place.target.completed_by(theirs);
    if (f.threads > 0 && !ours.is_gpu()) ours.threads = f.threads;
    if (ours.arch == theirs.arch && ours.os == theirs.os && ours.mcpu == theirs.mcpu && ours.mattr == theirs.mattr) {
      place.target = ours;
      place.device_target = d.target;
      place.device_key = d.key;
      place.devices = static_cast<size_t>(
          std::count_if(devices.begin(), devices.end(), [&](const auto& other) { return other.target == d.target; }));
      return place;
    }
    offered.push_back(fmt::format("{} ({})", d.key, d.target));
  }
  return no_device_error(fmt::format("--target: no device serves '{}'; there {}: {}", f.target,
                                     devices.size() == 1 ? "is" : "are", absl::StrJoin(offered, ", ")));
}

}  // namespace hone
