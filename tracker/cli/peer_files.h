// The fleet files (rpc/wire/access/fleet_file.h) in the folder of `tracker init-tls`, one for each who is let in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "rpc/wire/access/address.h"
#include "tracker/cli/tls_folder.h"

namespace hone::tracker {

/// Where a tracker is dialled, unless somebody says otherwise; its pages are one port above.
inline constexpr uint16_t kUsualPort = 9190;

/// The name of a peer's file; agents and tuners share the names, so no two files are called the same.
std::string fleet_file_of(const std::string& name);

/// Where the tracker is dialled: at each host of its certificate.
std::vector<wire::Address> addresses_of(const std::vector<std::string>& hosts, uint16_t port);

/// The port that the folder's files have: the admin's, where there is one, else kUsualPort.
uint16_t port_of(const TlsFolder& folder);

/// The team's tophub that a fleet file of the folder names; empty: none, or there is no such file.
std::string tophub_of(const TlsFolder& folder, const std::string& name);

/// Makes the fleet file of the holder of FILE.pem, FILE.key and FILE.token anew, or for the first time, for
/// `certificate`, and gives its name; empty where that certificate is none of init-tls's. Without `tophub` the file's
/// own stays. Errors: a file that cannot be read.
StatusOr<std::string> renew_fleet_file(TlsFolder& folder, const std::string& file, const std::string& ca,
                                       const std::string& certificate, const std::vector<wire::Address>& trackers,
                                       const std::string& tophub);

}  // namespace hone::tracker
