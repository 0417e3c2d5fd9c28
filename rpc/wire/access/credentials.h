// How a client recognizes the tracker, and how it identifies itself.
#pragma once

#include <string>

#include "base/status.h"
#include "rpc/wire/access/address.h"

namespace hone::wire {

/// The text of PEM files and a token; all may be empty. The token is a secret: it is sent and never shown.
struct Credentials {
  std::string ca;                ///< certificates that may have signed the tracker's; not empty: the connection is TLS
  std::string certificate, key;  ///< of the client, for mutual TLS
  std::string token;             ///< sent with each call
  /// The flags that brought them, for messages about them.
  std::string ca_from = "--tls-ca", certificate_from = "--tls-cert";

  bool tls() const { return !ca.empty(); }
};

/// A file that this variable names is as if --fleet named it; `--fleet ''`: none.
inline constexpr char kFleetVariable[] = "HONE_FLEET";

/// Where they lie; an empty path leaves the text empty.
struct CredentialFiles {
  std::string ca, certificate, key, token;
  std::string fleet = {};  ///< a file with all of them, and where the tracker is: fleet_file.h
};

/// Reads and checks the files but `fleet` (tracker_access.h has the whole); values that none of them has are from
/// `others`. InvalidArgument, one line that names the flag and the file and quotes nothing secret.
StatusOr<Credentials> load_credentials(const CredentialFiles& files, Credentials others = {});

/// An error naming `flag` when another host could read or forge the messages to `tracker`, or its token, unless
/// `insecure`.
Status check_protected(const Address& tracker, const Credentials& credentials, bool insecure, const std::string& flag);

}  // namespace hone::wire
