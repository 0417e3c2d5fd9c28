#include "tracker/cli/ask.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "base/clean_stream.h"
#include "base/exit_code.h"
#include "base/terminal.h"
#include "rpc/wire/access/certificate_dates.h"
#include "rpc/wire/access/tracker_access.h"
#include "rpc/wire/admin_client.h"
#include "rpc/wire/messages/device_names.h"
#include "tracker/pages.h"

namespace hone::tracker {
namespace {

constexpr auto kCallTimeout = std::chrono::seconds(5);

StatusOr<wire::TrackerAccess> whom(const AskFlags& flags) {
  HONE_ASSIGN_OR_RETURN(wire::TrackerAccess out,
                        wire::tracker_access(flags.tracker, flags.credentials, flags.insecure));
  wire::log_reminders(out.credentials);
  return out;
}

// Whether stdout is a terminal: colours and cut lines are for those.
TextStyle text_style() {
  const size_t columns = terminal_columns(STDOUT_FILENO);
  return columns == 0 ? TextStyle() : TextStyle{std::getenv("NO_COLOR") == nullptr, columns};
}

// No tracker there, or one that wants other credentials: bad usage.
Status told(const Status& status) {
  const bool ours = absl::IsUnavailable(status) || absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status);
  return ours ? usage_error(message_of(status)) : status;
}

}  // namespace

Status show_status(const AskFlags& flags) {
  HONE_ASSIGN_OR_RETURN(const wire::TrackerAccess asked, whom(flags));
  auto status = wire::fetch_status(asked.tracker, kCallTimeout, asked.credentials);
  if (!status.ok()) return told(status.status());
  if (!flags.device.empty()) {
    auto& devices = status->devices;
    const auto is_other = [&](const wire::DeviceStatus& device) { return !wire::is_called(device, flags.device); };
    if (std::all_of(devices.begin(), devices.end(), is_other))
      return usage_error("--device: " + wire::about_devices_called(flags.device, devices));
    std::erase_if(devices, is_other);
  }
  if (const TextStyle style = text_style(); flags.json)
    std::cout << state_json(*status) << "\n";
  else if (style.colour)
    command_terminal(std::cout, state_text(*status, style));  // which cleans its texts
  else
    std::cout << state_text(*status, style);
  std::cout << std::flush;
  return absl::OkStatus();
}

Status administer(const AskFlags& flags, const std::string& action) {
  HONE_ASSIGN_OR_RETURN(const wire::TrackerAccess asked, whom(flags));
  const auto line = wire::administer(asked.tracker, action, flags.name, kCallTimeout, asked.credentials);
  if (!line.ok()) return told(line.status());
  std::cout << *line << std::endl;
  return absl::OkStatus();
}

}  // namespace hone::tracker
