// One file that lets a program into a fleet: `tracker init-tls` writes one a person and an agent, --fleet reads it.
//
//   hone-fleet 1                   what it is, and the version of the format
//   # a comment; blank lines may be anywhere between entries, too
//   for tuner ann                  role and name of who has it
//   tracker lab:9190               where the tracker is dialled; others follow, which name the same one
//   tracker 192.0.2.7:9190
//   tophub https://lab:9200        the team's tophub; may be missing
//   token 5fd1…                    what is shown with each call
//   ca                             whom the tracker's certificate is from, in PEM
//   certificate                    the holder's, and
//   key                            its private key; both, or neither
//   end                            without it a part is missing
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "rpc/wire/access/address.h"
#include "rpc/wire/access/credentials.h"

namespace hone::wire {

/// The contents of such a file. It always has a CA, so data goes only to a peer that can prove to be the tracker.
struct FleetFile {
  std::string role, name;         ///< of its holder: tuner, ann
  std::vector<Address> trackers;  ///< at least one; the first is dialled
  Credentials credentials;
  std::string tophub = {};  ///< the URL of the team's tophub; empty: there is none

  /// Whether the tracker, or the team's tophub, is at that host, as a name or an address of the file's.
  bool names(const Address& address) const;
  /// Its hosts, each once, in their order: `lab, 192.0.2.7`.
  std::string hosts_text() const;
};

/// The file's text, which parse_fleet_file() reads back.
std::string fleet_file_text(const FleetFile& fleet);

/// InvalidArgument, one line `PATH:LINE: what is wrong` that quotes nothing of the file but its version, for a text
/// that is not such a file, or not all of it.
StatusOr<FleetFile> parse_fleet_file(const std::string& path, const std::string& text);

/// Reads the file. InvalidArgument as above, and as read_secret_file() has it: others must not be able to read it.
StatusOr<FleetFile> load_fleet_file(const std::string& path);

}  // namespace hone::wire
